//! Enquiries of users about listings of other organisations (`docs/api/listings.md`, "Enquiries").

mod demo;
mod handlers;
mod model;
mod store;

use std::time::Duration;

use common::Error;
use database::Database;
use metrics::{Counter, counter, describe_counter};

pub(crate) use demo::{create_demo_enquiry, sample_event};
pub(crate) use handlers::routes;
pub(crate) use store::{erase_user, list_of_user};

/// How often old enquiries are deleted.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3_600);

fn enquiries() -> Counter {
    counter!("drover_listing_enquiries_total")
}

/// Describes the counter and sets it to 0.
pub(crate) fn register_metrics() {
    describe_counter!("drover_listing_enquiries_total", "Enquiries about listings");
    enquiries().increment(0);
}

/// Deletes enquiries that are older than `days`, for as long as the service runs.
pub(crate) async fn run_retention(db: &Database, days: u32) {
    loop {
        if let Err(error) = prune(db, days).await {
            tracing::warn!(
                error = format!("{error:?}"),
                "old enquiries could not be deleted; retrying in an hour"
            );
        }
        tokio::time::sleep(PRUNE_INTERVAL).await;
    }
}

async fn prune(db: &Database, days: u32) -> Result<(), Error> {
    while db.write(move |c| store::prune(c, days)).await? {}
    Ok(())
}
