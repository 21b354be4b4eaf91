//! The operations on listings.

mod close;
mod create;
mod find;
mod list_events;
mod publish;
mod search;
mod update;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the operations. `/listings/{id}` comes last: its pattern matches the paths of the others.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(search::search_listings)
        .service(create::create_sheep_listing)
        .service(create::create_cattle_listing)
        .service(create::create_working_dog_listing)
        .service(create::create_feed_listing)
        .service(create::create_bedding_listing)
        .service(publish::publish_listing)
        .service(close::close_listing)
        .service(list_events::list_events_of_listing)
        .service(find::find_listing)
        .service(update::update_listing);
}
