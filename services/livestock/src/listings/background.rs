//! Background work on listings: upgrades rows of older versions and keeps the facets up to date.

use std::sync::Arc;
use std::time::Duration;

use database::Database;

use super::facets::FacetService;
use super::store::rebuild_stale_rows;

/// Interval of the background work.
const BACKGROUND_INTERVAL: Duration = Duration::from_secs(10);

/// Rebuilds, for as long as the service runs, the rows that replicas of an older version still write, and updates the
/// facets. Otherwise the first request for facets would have to read the changes of a day.
pub(crate) async fn run_background(db: &Database, facets: &Arc<FacetService>) {
    loop {
        for result in [rebuild_stale_rows(db).await, facets.update(db).await] {
            if let Err(error) = result {
                tracing::warn!(
                    error = format!("{error:?}"),
                    "listings could not be brought up to date; retrying in 10 s"
                );
            }
        }
        tokio::time::sleep(BACKGROUND_INTERVAL).await;
    }
}
