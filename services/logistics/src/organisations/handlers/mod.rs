//! The operations on organisations.

mod block;
mod list;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the routes.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(list::list).service(block::block).service(block::unblock);
}
