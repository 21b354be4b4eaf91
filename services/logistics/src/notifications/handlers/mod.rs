//! The operations on notifications. The module `loads` sends loads, and lists the notifications of a load.

mod list;
mod redeliver;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the routes.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(list::list).service(redeliver::redeliver);
}
