//! The clock that all replicas of a service share. Leases and due times use it.

use diesel::dsl::sql;
use diesel::prelude::*;

use crate::{AnyConnection, Timestamp, TimestampSql};

/// The current time of the shared clock as an expression of PostgreSQL, so that a statement can store it
/// without a separate query. `now()` is the start of the transaction.
pub const SERVER_NOW: &str = "date_trunc('milliseconds', clock_timestamp())";

/// Returns the current time of the shared clock: the server's on PostgreSQL, this machine's on SQLite, where one
/// process writes.
///
/// # Errors
/// Fails if the query fails.
pub fn shared_now(c: &mut AnyConnection) -> QueryResult<Timestamp> {
    let AnyConnection::Postgres(c) = c else { return Ok(Timestamp::now()) };
    diesel::select(sql::<TimestampSql>(SERVER_NOW)).get_result(c)
}
