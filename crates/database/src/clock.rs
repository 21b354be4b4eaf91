//! The clock that replicas share, by which leases and due times are set.

use std::time::Duration;

use chrono::TimeDelta;
use diesel::dsl::sql;
use diesel::prelude::*;

use crate::{AnyConnection, Timestamp, TimestampSql};

/// The present time by the clock that replicas share: on PostgreSQL the server's, on SQLite, which one process writes, the
/// machine's.
///
/// # Errors
/// If the database fails.
pub fn shared_now(c: &mut AnyConnection) -> QueryResult<Timestamp> {
    let AnyConnection::Postgres(c) = c else { return Ok(Timestamp::now()) };
    // `now()` would be the beginning of the transaction.
    let clock = sql::<TimestampSql>("date_trunc('milliseconds', clock_timestamp())");
    diesel::select(clock).get_result(c)
}

impl Timestamp {
    /// Returns the instant after this pause, or the same instant if the calendar ends before it.
    #[must_use]
    pub fn after(self, pause: Duration) -> Self {
        self.plus(TimeDelta::from_std(pause).unwrap_or_default())
    }

    /// Returns the time until a later instant; zero for an earlier one.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis((later.millis() - self.millis()).max(0).unsigned_abs())
    }
}
