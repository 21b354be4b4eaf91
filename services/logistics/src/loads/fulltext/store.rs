//! The queries that update the full-text index of SQLite.

use common::Error;
use database::AnyConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;

/// The number of loads that may wait for the full-text index of SQLite: indexing them one by one costs four times as
/// much each.
const MAX_UNINDEXED: i64 = 500;
/// The loads indexed by one transaction, which takes about 50 ms.
const INDEX_BATCH_SIZE: i64 = 2_000;

/// Returns true if so many loads wait for the full-text index that a batch is worth its cost. Never on PostgreSQL,
/// whose index is up to date.
pub(super) fn has_many_unindexed(c: &mut AnyConnection) -> Result<bool, Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(false) };
    let count = sql::<BigInt>("(SELECT count(*) FROM (SELECT 1 FROM loads_unindexed LIMIT ");
    let count: i64 = diesel::select(count.bind::<BigInt, _>(MAX_UNINDEXED).sql("))")).get_result(c)?;
    Ok(count == MAX_UNINDEXED)
}

/// Puts a batch of the waiting loads into the full-text index, and their creators into `load_creators`.
pub(super) fn index_batch(c: &mut AnyConnection) -> Result<(), Error> {
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
