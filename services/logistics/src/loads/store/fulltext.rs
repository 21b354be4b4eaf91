//! Updates the full-text index of SQLite, and the table of creators, in the background. New loads wait in the table
//! `loads_unindexed`, which searches also read, and are indexed a few thousand at a time. Imports therefore don't wait
//! for the index, and other writes run between two steps.

use std::time::Duration;

use common::{Error, FailureStreak};
use database::{AnyConnection, Database};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;

/// The pause between two checks for waiting loads.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The number of loads that may wait for the full-text index of SQLite: indexing them one by one costs four times as
/// much each.
const MAX_UNINDEXED: i64 = 500;
/// The loads indexed by one transaction, which takes about 50 ms.
const INDEX_BATCH_SIZE: i64 = 2_000;

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

/// Returns true if so many loads wait for the full-text index that a batch is worth its cost. Never on PostgreSQL,
/// whose index is up to date.
fn has_many_unindexed(c: &mut AnyConnection) -> Result<bool, Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(false) };
    let count = sql::<BigInt>("(SELECT count(*) FROM (SELECT 1 FROM loads_unindexed LIMIT ");
    let count: i64 = diesel::select(count.bind::<BigInt, _>(MAX_UNINDEXED).sql("))")).get_result(c)?;
    Ok(count == MAX_UNINDEXED)
}

/// Puts a batch of the waiting loads into the full-text index, and their creators into `load_creators`.
fn index_batch(c: &mut AnyConnection) -> Result<(), Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(()) };
    let batch = format!("IN (SELECT n FROM loads_unindexed ORDER BY n LIMIT {INDEX_BATCH_SIZE})");
    let texts =
        "INSERT OR REPLACE INTO loads_fts (rowid, search_text) SELECT n, search_text FROM loads WHERE n";
    let creators = "INSERT OR IGNORE INTO load_creators SELECT creator_id, id FROM loads \
         WHERE creator_id IS NOT NULL AND n";
    for statement in [texts, creators, "DELETE FROM loads_unindexed WHERE n"] {
        diesel::sql_query(format!("{statement} {batch}")).execute(c)?;
    }
    Ok(())
}
