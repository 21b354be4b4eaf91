//! Updates the full-text index of SQLite in the background. New loads wait in the table `loads_unindexed`, which
//! searches also read, and are indexed a few thousand at a time. Imports therefore don't wait for the index, and other
//! writes run between two steps.

use std::time::Duration;

use common::{Error, FailureStreak};
use database::Database;

use super::search::store::{has_unindexed, index_batch};

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

async fn index_waiting(db: &Database) -> Result<(), Error> {
    while db.read(has_unindexed).await? {
        db.write(index_batch).await?;
    }
    Ok(())
}
