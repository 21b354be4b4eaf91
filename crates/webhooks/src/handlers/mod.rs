//! The operations on webhooks.

mod deliveries;
mod webhooks;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the routes. The service provides [`crate::Webhooks`] as app data.
pub fn routes(v1: &mut ServiceConfig) {
    v1.service(webhooks::create)
        .service(webhooks::list)
        .service(webhooks::find)
        .service(webhooks::update)
        .service(webhooks::delete)
        .service(webhooks::test)
        .service(webhooks::rotate_secret)
        .service(deliveries::list_deliveries)
        .service(deliveries::redeliver_many)
        .service(deliveries::find_delivery)
        .service(deliveries::redeliver);
}
