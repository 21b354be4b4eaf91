//! Listings.

mod api;
mod columns;
mod create;
mod currency;
mod events;
mod facets;
mod form;
mod lifecycle;
mod location;
mod model;
mod particulars;
mod place;
mod price;
mod properties;
mod search;
mod store;
mod terms;

use common::Error;
use database::Database;
pub(crate) use facets::Follower;
use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use model::Listing;
pub(crate) use store::find;

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(api::search_listings)
        .service(create::sheep)
        .service(create::cattle)
        .service(create::working_dog)
        .service(create::feed)
        .service(create::bedding)
        .service(lifecycle::publish)
        .service(lifecycle::close)
        .service(events::list)
        .service(api::find);
}

/// Brings rows up to date that an older version of this service wrote. A replica of that version may add some meanwhile:
/// those wait for the next start.
pub(crate) async fn derive(db: &Database) -> Result<(), Error> {
    while db.write(store::derive).await? > 0 {}
    Ok(())
}
