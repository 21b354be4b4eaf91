//! The routes of the cache.

mod clear_cache;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the routes under `/v1`.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(clear_cache::clear_cache);
}
