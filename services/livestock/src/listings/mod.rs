//! Listings.

mod api;
mod columns;
mod create;
mod currency;
mod events;
mod facets;
mod form;
mod geo;
mod lifecycle;
mod location;
mod model;
mod price;
mod properties;
mod search;
mod search_fields;
mod store;
mod terms;

use std::time::Duration;

use actix_web::web::Data;
use common::Error;
use database::Database;
pub(crate) use facets::FacetService;
use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use model::{Listing, Status};
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
const REBUILD_INTERVAL: Duration = Duration::from_secs(10);
/// So long a replica waits for another that mends rows before it looks again.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Mends the rows that an older version of this service wrote; returns when there are none.
pub(crate) async fn rebuild_stale_rows(db: &Database) -> Result<(), Error> {
    loop {
        match db.write(store::rebuild_stale_rows).await? {
            Some(false) => return Ok(()),
            Some(true) => {}
            None => tokio::time::sleep(LOCK_RETRY_INTERVAL).await,
        }
    }
}

/// For as long as the service runs: mends what replicas of an older version still write, and keeps the counts up to date,
/// lest the first to ask for them waits for a day's changes.
pub(crate) async fn keep(app: Data<Livestock>) {
    loop {
        for done in [rebuild_stale_rows(&app.db).await, app.follower.follow(&app.db).await] {
            if let Err(error) = done {
                tracing::warn!(
                    error = format!("{error:?}"),
                    "listings could not be brought up to date: tried again soon"
                );
            }
        }
        tokio::time::sleep(REBUILD_INTERVAL).await;
    }
}
