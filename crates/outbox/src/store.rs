//! The queries on an outbox, except claims ([`super::claim`]). They are SQL texts, because the name of the table
//! is a value.

use std::time::Duration;

use chrono::TimeDelta;
use common::Error;
use database::{AnyConnection, Id, IdSql, Timestamp, TimestampSql, shared_now};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use super::model::{Backlog, Claimed, Outbox, Outcome, Status, unclaimed};

#[derive(QueryableByName)]
struct DueAt {
    #[diesel(sql_type = TimestampSql)]
    due_at: Timestamp,
}

#[derive(QueryableByName)]
struct Pending {
    #[diesel(sql_type = BigInt)]
    pending: i64,
    #[diesel(sql_type = Nullable<TimestampSql>)]
    oldest: Option<Timestamp>,
}

/// Makes a message pending again, with no attempts. A delivery that is in progress ends first.
///
/// # Errors
/// If the database fails.
pub fn redeliver(c: &mut AnyConnection, outbox: &Outbox, group: &str, id: Id) -> Result<(), Error> {
    let now = shared_now(c)?;
    let Outbox { table, group: column, on_redelivery, .. } = outbox;
    let query = format!(
        "UPDATE {table} SET status = $1, attempts = 0, due_at = $2, pending_since = $2, delivered_at = NULL{on_redelivery} \
         WHERE {column} = $3 AND id = $4"
    );
    database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<Text, _>(Status::Pending.into_str())
        .bind::<TimestampSql, _>(now)
        .bind::<Text, _>(group)
        .bind::<IdSql, _>(id)
        .execute(c))?;
    Ok(())
}

/// Returns the time until the next unclaimed message is due: zero if one is due, `None` if none is pending. Claims
/// nothing.
pub(super) fn next_due_in(c: &mut AnyConnection, outbox: &Outbox) -> Result<Option<Duration>, Error> {
    let now = shared_now(c)?;
    let query = format!(
        "SELECT due_at FROM {} WHERE due_at IS NOT NULL AND (claimed_until IS NULL OR claimed_until <= $1 OR claimed_until >= $2) \
         ORDER BY due_at LIMIT 1",
        outbox.table
    );
    let next: Vec<DueAt> = database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<TimestampSql, _>(now)
        .bind::<TimestampSql, _>(unclaimed())
        .load(c))?;
    Ok(next.first().map(|next| now.until(next.due_at)))
}

/// Returns the number of pending messages and the age of the oldest.
pub(super) fn backlog(c: &mut AnyConnection, outbox: &Outbox) -> Result<Backlog, Error> {
    let now = shared_now(c)?;
    let query = format!(
        "SELECT count(*) AS pending, min(pending_since) AS oldest FROM {} WHERE due_at IS NOT NULL",
        outbox.table
    );
    let found: Pending = database::dispatch!(c, c => diesel::sql_query(query).get_result(c))?;
    Ok(Backlog { pending: found.pending, oldest: found.oldest.map(|at| at.until(now)) })
}

/// Records the outcome of a delivery and ends its claim. The `pending_since` of a delivered or failed message becomes
/// the current time: its retention period starts now, however long it was pending.
///
/// Returns false and records nothing if the claim is void, because its lease expired and another replica claimed the
/// message or because it was redelivered.
pub(super) fn record(
    c: &mut AnyConnection,
    outbox: &Outbox,
    claimed: &Claimed,
    outcome: &Outcome,
) -> Result<bool, Error> {
    let now = shared_now(c)?;
    let (status, due_at, delivered_at, last_error) = match outcome {
        Outcome::Delivered => (Status::Delivered, None, Some(now), None),
        Outcome::Retry { backoff, reason } => {
            (Status::Pending, Some(now.after(*backoff)), None, Some(reason.as_str()))
        }
        Outcome::Failed(reason) => {
            (Status::Failed, None, None, Some(reason.as_str()).filter(|reason| !reason.is_empty()))
        }
    };
    let retained_since = due_at.is_none().then_some(now);
    let Outbox { table, group, .. } = outbox;
    // SQLite numbers parameters by their first occurrence.
    let query = format!(
        "UPDATE {table} SET status = $1, due_at = $2, claimed_until = $3, delivered_at = $4, last_error = $5, \
         pending_since = COALESCE($6, pending_since) \
         WHERE {group} = $7 AND id = $8 AND attempts = $9 AND claimed_until = $10"
    );
    let updated = database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<Text, _>(status.into_str())
        .bind::<Nullable<TimestampSql>, _>(due_at)
        .bind::<Nullable<TimestampSql>, _>(outbox.unclaimed_until())
        .bind::<Nullable<TimestampSql>, _>(delivered_at)
        .bind::<Nullable<Text>, _>(last_error)
        .bind::<Nullable<TimestampSql>, _>(retained_since)
        .bind::<Text, _>(&claimed.group)
        .bind::<IdSql, _>(claimed.id)
        .bind::<Integer, _>(claimed.attempts)
        .bind::<TimestampSql, _>(claimed.until)
        .execute(c))?;
    if updated == 1 {
        return Ok(true);
    }
    // A redelivered message still has this claim. It ends, so that the message can be claimed at once.
    let query = format!(
        "UPDATE {table} SET claimed_until = $1 WHERE {group} = $2 AND id = $3 AND claimed_until = $4"
    );
    database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<Nullable<TimestampSql>, _>(outbox.unclaimed_until())
        .bind::<Text, _>(&claimed.group)
        .bind::<IdSql, _>(claimed.id)
        .bind::<TimestampSql, _>(claimed.until)
        .execute(c))?;
    Ok(false)
}

/// Maximum number of messages that [`prune`] deletes in one transaction, which takes about 20 ms.
pub(super) const PRUNE_BATCH_SIZE: u32 = 1_000;

/// Deletes a batch of messages that were delivered or failed longer ago than `age`, oldest first. Returns their number.
pub(super) fn prune(c: &mut AnyConnection, outbox: &Outbox, age: Duration) -> Result<usize, Error> {
    let before = shared_now(c)?.plus(-TimeDelta::from_std(age).unwrap_or(TimeDelta::MAX));
    let Outbox { table, group, .. } = outbox;
    let old = format!(
        "SELECT {group}, id FROM {table} WHERE due_at IS NULL AND pending_since < $1 \
         ORDER BY pending_since LIMIT {PRUNE_BATCH_SIZE}"
    );
    let query = format!("DELETE FROM {table} WHERE ({group}, id) IN ({old}{})", c.skip_locked());
    Ok(database::dispatch!(c, c => diesel::sql_query(query).bind::<TimestampSql, _>(before).execute(c))?)
}
