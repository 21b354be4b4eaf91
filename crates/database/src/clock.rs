//! The clock that all replicas of a service share. Leases and due times use it.

use diesel::dsl::sql;
use diesel::prelude::*;

use crate::{AnyConnection, Timestamp, TimestampSql};

/// Returns the current time of the shared clock: the server's on PostgreSQL, this machine's on SQLite, where one
/// process writes.
///
/// # Errors
/// Fails if the query fails.
pub fn shared_now(c: &mut AnyConnection) -> QueryResult<Timestamp> {
    let AnyConnection::Postgres(c) = c else { return Ok(Timestamp::now()) };
    // `now()` is the start of the transaction.
    let clock = sql::<TimestampSql>("date_trunc('milliseconds', clock_timestamp())");
    diesel::select(clock).get_result(c)
}
