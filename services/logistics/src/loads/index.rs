//! The full-text index of SQLite follows the loads: what was stored waits in a table, where searches look too, and is
//! indexed from there some thousands at a time. So nobody waits for it who stores many, and others write in between.

use std::time::Duration;

use common::{Error, FailureStreak};
use database::Database;

use super::search::store::{has_unindexed, index_batch};

/// How long nobody looks.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Indexes what waits for as long as the service runs.
pub(crate) async fn keep_index(db: &Database) {
    let mut failures = FailureStreak::default();
    // On PostgreSQL an index follows by itself.
    while db.is_sqlite() {
        tokio::time::sleep(POLL_INTERVAL).await;
        if let Some(error) = failures.first(&catch_up(db).await) {
            tracing::warn!(error = format!("{error:?}"), "loads could not be put into the full-text index");
        }
    }
}

async fn catch_up(db: &Database) -> Result<(), Error> {
    while db.read(has_unindexed).await? {
        db.write(index_batch).await?;
    }
    Ok(())
}
