//! The clock that replicas share, by which leases and due times are set.

use std::time::Duration;

use chrono::TimeDelta;
use diesel::dsl::sql;
use diesel::prelude::*;

use crate::{AnyConnection, Ts, TsSql};

/// The present time by the clock that replicas share: on PostgreSQL the server's, on SQLite, which one process writes, the
/// machine's.
///
/// # Errors
/// If the database fails.
pub fn shared_now(c: &mut AnyConnection) -> QueryResult<Ts> {
    let AnyConnection::Postgres(c) = c else { return Ok(Ts::now()) };
    // `now()` would be the beginning of the transaction.
    let clock = sql::<TsSql>("date_trunc('milliseconds', clock_timestamp())");
    diesel::select(clock).get_result(c)
}

impl Ts {
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
