//! The order of events that transactions record while others run, on PostgreSQL.
//!
//! A transaction may commit after one that began later, so the numbers that a sequence assigns do not become visible in
//! their order. Each event therefore has a position: at least the id of its transaction. All transactions below the
//! oldest running one have ended, so events below [`first_unsettled_position`] are complete, and a reader that stops
//! there misses none. SQLite has one writer, whose events become visible in the order of their numbers.
//!
//! The table `feed_base` has what is added to the ids of transactions, so that positions go on growing after the
//! database was moved to a cluster with smaller ids.

use diesel::prelude::*;

use crate::prepared::ConstantSql;
use crate::{AnyConnection, Error};
use schema::feed_base;

mod schema {
    diesel::table! {
        // One row. Only on PostgreSQL.
        feed_base (base) {
            base -> BigInt,
        }
    }
}

/// The position of all events on SQLite.
pub const SQLITE_POSITION: i64 = 1;

/// The first id above those of the transactions that have ended, on PostgreSQL.
const NEXT_TRANSACTION: ConstantSql = ConstantSql("pg_snapshot_xmax(pg_current_snapshot())::text::bigint");

/// The position before which no event can appear any more.
const POSITION: &str = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint";

/// SQL of the whole id of a transaction, from its low 32 bits `id` and an id `next` that is within 2^31 of it.
macro_rules! whole_id {
    () => {
        "next - (((next - id + 2147483648) & 4294967295) - 2147483648)"
    };
}

/// See `whole_id`.
#[doc(hidden)]
pub const WHOLE_ID: &str = whole_id!();

/// The position before which no event can appear any more, if Citus distributes the rows. All transactions begin on the
/// coordinator, whose ids of transactions are the positions.
///
/// A transaction on several servers commits there after it has committed on the coordinator. It keeps the lock on its
/// id meanwhile. If a server fails just then, the row in `pg_dist_transaction` stays until Citus has repeated the
/// commit. Locks and rows have the low 32 bits of ids, of which the whole one is within 2^31 of the next: below it or,
/// if its transaction runs, above.
const POSITION_IF_DISTRIBUTED: &str = concat!(
    "(SELECT min(",
    whole_id!(),
    ") FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint) AS snapshot (next), \
     LATERAL (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint & 4294967295 \
     UNION ALL SELECT transactionid::text::bigint FROM pg_locks \
     WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted \
     UNION ALL SELECT xmin::text::bigint FROM pg_dist_transaction) AS running (id))"
);

/// Returns the position before which no event can appear any more, on PostgreSQL.
///
/// # Errors
/// Those of the database.
pub fn first_unsettled_position(c: &mut AnyConnection) -> Result<i64, Error> {
    let position = if c.is_distributed() { POSITION_IF_DISTRIBUTED } else { POSITION };
    Ok(diesel::select(ConstantSql(position)).get_result(c)?)
}

/// Returns what is added to the ids of transactions, on PostgreSQL.
fn base(c: &mut AnyConnection) -> Result<i64, Error> {
    Ok(feed_base::table.select(feed_base::base).first(c)?)
}

/// Returns the position before which no event of the feed can appear any more.
///
/// # Errors
/// Those of the database.
pub fn settled_position(c: &mut AnyConnection) -> Result<i64, Error> {
    match c {
        AnyConnection::Sqlite(_) => Ok(SQLITE_POSITION + 1),
        AnyConnection::Postgres(_) => Ok(first_unsettled_position(c)? + base(c)?),
    }
}

/// Returns the first position above those of the transactions that have ended.
///
/// # Errors
/// Those of the database.
pub fn next_position(c: &mut AnyConnection) -> Result<i64, Error> {
    match c {
        AnyConnection::Sqlite(_) => Ok(SQLITE_POSITION + 1),
        AnyConnection::Postgres(_) => Ok(diesel::select(NEXT_TRANSACTION).get_result::<i64>(c)? + base(c)?),
    }
}

/// Moves the positions of new events beyond the last one, which is greater after the database was moved from another
/// cluster of PostgreSQL. Call it before events are recorded.
///
/// # Errors
/// Those of the database.
pub fn align(c: &mut AnyConnection, last: Option<i64>) -> Result<(), Error> {
    if let AnyConnection::Postgres(_) = c {
        let (next, base) = (next_position(c)?, base(c)?);
        if let Some(last) = last.filter(|last| *last >= next) {
            let moved = diesel::update(feed_base::table.filter(feed_base::base.eq(base)));
            moved.set(feed_base::base.eq(base + last + 1 - next)).execute(c)?;
        }
    }
    Ok(())
}
