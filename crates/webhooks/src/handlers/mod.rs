//! The operations on webhooks.

mod create;
mod delete;
mod find;
mod list;
mod list_deliveries;
mod redeliver;
mod rotate_secret;
mod test;
mod update;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the routes. The service provides [`crate::Webhooks`] as app data.
pub fn routes(v1: &mut ServiceConfig) {
    v1.service(create::create)
        .service(list::list)
        .service(find::find)
        .service(update::update)
        .service(delete::delete)
        .service(test::test)
        .service(rotate_secret::rotate_secret)
        .service(list_deliveries::list_deliveries)
        .service(redeliver::redeliver);
}
