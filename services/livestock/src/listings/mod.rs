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

use std::time::Duration;

use actix_web::web::Data;
use common::Error;
pub(crate) use facets::Follower;
use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use model::Listing;
pub(crate) use store::find;

use crate::Livestock;

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

/// So often that is done which nobody asks for.
const REST: Duration = Duration::from_secs(10);

/// For as long as the service runs: mends the rows that replicas of an older version write, and keeps the counts up to
/// date, lest the first to ask for them waits for a day's changes.
pub(crate) async fn keep(app: Data<Livestock>) {
    loop {
        if let Err(error) = upkeep(&app).await {
            tracing::warn!(
                error = format!("{error:?}"),
                "listings could not be brought up to date: tried again soon"
            );
        }
        tokio::time::sleep(REST).await;
    }
}

async fn upkeep(app: &Livestock) -> Result<(), Error> {
    while app.db.write(store::derive).await? > 0 {}
    app.follower.follow(&app.db).await
}
