//! The queries that claim due messages.

use common::Error;
use database::{AnyConnection, Id, IdSql, Json, JsonSql, Timestamp, TimestampSql, shared_now};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text};

use super::{Candidate, ClaimRequest};
use crate::outbox::model::{Claimed, Outbox};

#[derive(QueryableByName)]
struct ClaimedRow {
    #[diesel(sql_type = IdSql)]
    id: Id,
    #[diesel(sql_type = Text)]
    event: String,
    #[diesel(sql_type = Integer)]
    attempts: i32,
    #[diesel(sql_type = JsonSql)]
    body: Json,
}

/// Claims due messages: an equal share for each of the groups whose turn is next, of each the longest due first. On
/// PostgreSQL several replicas can claim at once: rows that another one locks are skipped. With Citus, one of two that
/// claim the same message fails and runs again.
pub(in crate::outbox) fn claim(
    c: &mut AnyConnection,
    outbox: &Outbox,
    request: &ClaimRequest,
) -> Result<Vec<Claimed>, Error> {
    let now = shared_now(c)?;
    let until = now.after(request.lease);
    let mut claimed = Vec::new();
    for (candidate, share) in request.shares(candidates(c, outbox, request, now)?) {
        for row in claim_of_group(c, outbox, &candidate.group, share, now, until)? {
            claimed.push(Claimed {
                id: row.id,
                group: candidate.group.clone(),
                owner: candidate.owner.clone(),
                max_slots: candidate.max_slots,
                event: row.event,
                attempts: row.attempts,
                until,
                body: row.body,
            });
        }
    }
    Ok(claimed)
}

/// Claims up to `share` due messages of a group.
fn claim_of_group(
    c: &mut AnyConnection,
    outbox: &Outbox,
    group: &str,
    share: usize,
    now: Timestamp,
    until: Timestamp,
) -> Result<Vec<ClaimedRow>, Error> {
    let Outbox { table, group: column, .. } = outbox;
    let lock = c.skip_locked();
    let is_free = "due_at <= $2 AND (claimed_until IS NULL OR claimed_until <= $2)";
    // `MATERIALIZED`: the rows are selected and locked once.
    let query = format!(
        "WITH due (due_id) AS MATERIALIZED (SELECT id FROM {table} WHERE {column} = $1 AND {is_free} \
         ORDER BY due_at LIMIT $3{lock}) \
         UPDATE {table} SET claimed_until = $4, attempts = attempts + 1 FROM due \
         WHERE {column} = $1 AND id = due_id AND {is_free} RETURNING id, event, attempts, body"
    );
    let share = i64::try_from(share).unwrap_or(i64::MAX);
    Ok(database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<Text, _>(group)
        .bind::<TimestampSql, _>(now)
        .bind::<BigInt, _>(share)
        .bind::<TimestampSql, _>(until)
        .load(c))?)
}

#[derive(QueryableByName)]
struct CandidateRow {
    #[diesel(sql_type = Text)]
    group_key: String,
    #[diesel(sql_type = Text)]
    owner: String,
    #[diesel(sql_type = Integer)]
    max_slots: i32,
}

/// Returns the groups that have due messages, in rotation: those after the one that got the last slot come first.
fn candidates(
    c: &mut AnyConnection,
    outbox: &Outbox,
    request: &ClaimRequest,
    now: Timestamp,
) -> Result<Vec<Candidate>, Error> {
    let limit = request.candidates();
    let mut candidates: Vec<Candidate> = Vec::new();
    for (operator, from) in [(">", request.last.as_str()), (">=", "")] {
        if candidates.len() < limit {
            for row in due_groups(c, outbox, operator, from, now, limit)? {
                if candidates.iter().all(|known| known.group != row.group_key) {
                    let max_slots = usize::try_from(row.max_slots).unwrap_or_default();
                    candidates.push(Candidate { group: row.group_key, owner: row.owner, max_slots });
                }
            }
        }
    }
    Ok(candidates)
}

/// Returns groups with due messages, in their order, from those that are `operator` `from` (`>` or `>=`). Steps through
/// the index from one group to the next, whatever number of messages they have pending, except with Citus.
fn due_groups(
    c: &mut AnyConnection,
    outbox: &Outbox,
    operator: &str,
    from: &str,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<CandidateRow>, Error> {
    let Outbox { table, group, join, owner, max_slots, .. } = outbox;
    let columns = format!("turns.key AS group_key, {owner} AS owner, {max_slots} AS max_slots");
    let is_due = "m.due_at <= $2 AND (m.claimed_until IS NULL OR m.claimed_until <= $2)";
    let query = if c.is_spread() {
        // Citus has neither recursion nor correlated subqueries over several servers. Each reads its due messages.
        format!(
            "SELECT {columns} FROM (SELECT m.{group} AS key FROM {table} m WHERE {is_due} AND m.{group} {operator} $1 \
             GROUP BY m.{group}) AS turns {join} ORDER BY turns.key LIMIT $3"
        )
    } else {
        let next = |condition: &str| {
            format!(
                "SELECT m.{group} FROM {table} m WHERE m.due_at IS NOT NULL AND m.{group} {condition} \
                 ORDER BY m.{group} LIMIT 1"
            )
        };
        let (first, following) = (next(&format!("{operator} $1")), next("> turns.key"));
        format!(
            "WITH RECURSIVE turns (key) AS (SELECT * FROM ({first}) AS first UNION ALL \
             SELECT ({following}) FROM turns WHERE turns.key IS NOT NULL) \
             SELECT {columns} FROM turns {join} WHERE turns.key IS NOT NULL \
             AND EXISTS (SELECT 1 FROM {table} m WHERE m.{group} = turns.key AND {is_due}) LIMIT $3"
        )
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<Text, _>(from)
        .bind::<TimestampSql, _>(now)
        .bind::<BigInt, _>(limit)
        .load(c))?)
}
