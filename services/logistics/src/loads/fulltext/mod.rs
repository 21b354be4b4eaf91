//! Updates the full-text index of SQLite, and the table of creators, in the background. New loads wait in the table
//! `loads_unindexed`, which searches also read, and are indexed a few thousand at a time. Imports therefore don't wait
//! for the index, and other writes run between two steps.

mod store;

use std::time::Duration;

use common::{Error, FailureStreak};
use database::Database;

use store::{has_many_unindexed, index_batch};

/// The pause between two checks for waiting loads.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Indexes waiting loads as long as the service runs. Returns at once on PostgreSQL, whose index is always up to date.
pub(crate) async fn run_fulltext_indexer(db: &Database) {
    let mut failures = FailureStreak::default();
    while db.is_sqlite() {
        tokio::time::sleep(POLL_INTERVAL).await;
        if let Some(error) = failures.first(&index_waiting(db).await) {
            tracing::warn!(error = format!("{error:?}"), "failed to update the full-text index of loads");
        }
    }
}

/// Indexes batches until few loads wait.
async fn index_waiting(db: &Database) -> Result<(), Error> {
    while db.read(has_many_unindexed).await? {
        db.write(index_batch).await?;
    }
    Ok(())
}
