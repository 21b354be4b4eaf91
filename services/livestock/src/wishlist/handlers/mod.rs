//! The operations on the caller's wishlist.

mod add;
mod remove;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the operations.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(add::add_listing).service(remove::remove_listing);
}
