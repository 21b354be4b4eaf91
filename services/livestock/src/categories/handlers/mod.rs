//! The operations on categories.

mod list;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the operations.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(list::list_categories);
}
