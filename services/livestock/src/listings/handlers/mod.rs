//! The operations on listings.

mod create;
mod feed;
mod public;
mod publish;
mod read;
mod update;

use common::Error;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::Livestock;

/// Caches may keep what visitors see for a minute.
const PUBLIC_CACHING: (&str, &str) = ("Cache-Control", "public, max-age=60");

/// Checks that the deployment shows listings to visitors.
///
/// # Errors
/// 404 if it does not.
fn check_public_listings(service: &Livestock) -> Result<(), Error> {
    if service.public_listings { Ok(()) } else { Err(Error::NotFound) }
}

/// Registers the operations. `/listings/{id}` comes last: its pattern matches the paths of the others.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(read::search_listings)
        .service(public::search_public_listings)
        .service(public::find_public_listing)
        .service(create::create_sheep_listing)
        .service(create::create_cattle_listing)
        .service(create::create_working_dog_listing)
        .service(create::create_feed_listing)
        .service(create::create_bedding_listing)
        .service(publish::publish_listing)
        .service(publish::close_listing)
        .service(read::list_events_of_listing)
        .service(feed::list_events)
        .service(feed::stream_events)
        .service(read::list_listings_by_ids)
        .service(read::find_listing)
        .service(update::update_listing);
}
