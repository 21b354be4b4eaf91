//! Limits on what an organisation or a user does in a period, on all replicas together.

use std::time::Duration;

use common::Error;
use database::{AnyConnection, Timestamp, TimestampSql, shared_now};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

/// A limit, and the table with the last acts of everyone whom it limits.
pub(super) struct Rate {
    /// A table with the columns `n`, which counts from 1, and `at`.
    pub(super) table: &'static str,
    /// The column with the organisation or the user.
    pub(super) actor: &'static str,
    /// Maximum number in a [`period`](Self::period).
    pub(super) maximum: i64,
    pub(super) period: Duration,
}

#[derive(QueryableByName)]
struct Act {
    #[diesel(sql_type = BigInt)]
    n: i64,
    #[diesel(sql_type = TimestampSql)]
    at: Timestamp,
}

impl Rate {
    /// Counts an act of an organisation or a user. The act counts only if the transaction commits.
    ///
    /// # Errors
    /// 429 if there were as many in the period as the limit allows.
    pub(super) fn count(&self, c: &mut AnyConnection, actor: &str) -> Result<(), Error> {
        let Self { table, actor: column, .. } = self;
        let now = shared_now(c)?;
        let last = format!("SELECT n, at FROM {table} WHERE {column} = $1 ORDER BY n DESC LIMIT 1");
        let last: Option<Act> = database::dispatch!(c, c => diesel::sql_query(last)
            .bind::<Text, _>(actor)
            .get_result(c)
            .optional())?;
        let n = last.map_or(1, |last| last.n + 1);
        let earlier = format!("SELECT n, at FROM {table} WHERE {column} = $1 AND n = $2");
        let earlier: Option<Act> = database::dispatch!(c, c => diesel::sql_query(earlier)
            .bind::<Text, _>(actor)
            .bind::<BigInt, _>(n - self.maximum)
            .get_result(c)
            .optional())?;
        if let Some(earlier) = earlier {
            let wait = now.until(earlier.at.after(self.period));
            if !wait.is_zero() {
                return Err(Error::RateLimited(wait.as_secs() + 1));
            }
        }
        // Of two concurrent acts, PostgreSQL makes the second wait for the first and run again: it then counts on.
        let insert =
            format!("INSERT INTO {table} ({column}, n, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
        let stored = database::dispatch!(c, c => diesel::sql_query(insert)
            .bind::<Text, _>(actor)
            .bind::<BigInt, _>(n)
            .bind::<TimestampSql, _>(now)
            .execute(c))?;
        if stored == 0 {
            return Err(Error::Internal(anyhow::anyhow!("a conflicting row of {table} was not found")));
        }
        let delete = format!("DELETE FROM {table} WHERE {column} = $1 AND n <= $2");
        database::dispatch!(c, c => diesel::sql_query(delete)
            .bind::<Text, _>(actor)
            .bind::<BigInt, _>(n - self.maximum)
            .execute(c))?;
        Ok(())
    }
}
