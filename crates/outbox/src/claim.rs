//! The queries that claim due messages.

use std::collections::HashMap;

use common::Error;
use database::{AnyConnection, Id, IdSql, Json, JsonSql, Timestamp, TimestampSql, shared_now};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text};

use crate::model::{Claimed, Outbox, unclaimed};
use crate::slots::{Candidate, ClaimRequest};

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
pub(super) fn claim(
    c: &mut AnyConnection,
    outbox: &Outbox,
    request: &ClaimRequest,
) -> Result<Vec<Claimed>, Error> {
    let now = shared_now(c)?;
    let until = now.after(request.lease);
    let mut claimed = Vec::new();
    for (candidate, share) in request.shares(candidates(c, outbox, request, now)?) {
        let group = Group { key: &candidate.group, now, until };
        let last = request.last_causes.get(group.key).map_or("", String::as_str);
        for (cause, share) in causes(c, outbox, &group, last, share)? {
            for row in claim_of_group(c, outbox, &group, cause.as_deref(), share)? {
                claimed.push(Claimed {
                    id: row.id,
                    group: candidate.group.clone(),
                    owner: candidate.owner.clone(),
                    max_slots: candidate.max_slots,
                    event: row.event,
                    attempts: row.attempts,
                    until,
                    body: row.body,
                    cause: cause.clone(),
                });
            }
        }
    }
    if let Some(bodies) = outbox.bodies {
        let mut elsewhere: Vec<_> = claimed.iter_mut().filter(|claimed| claimed.body.0 == "null").collect();
        let ids: Vec<Id> = elsewhere.iter().map(|claimed| claimed.id).collect();
        let bodies = if ids.is_empty() { HashMap::new() } else { bodies(c, &ids)? };
        for claimed in &mut elsewhere {
            claimed.body = bodies.get(&claimed.id).cloned().unwrap_or_else(|| Json(String::new()));
        }
    }
    Ok(claimed)
}

/// A group whose messages are claimed.
struct Group<'a> {
    key: &'a str,
    now: Timestamp,
    until: Timestamp,
}

/// The condition for a message that no replica claims. `now` and `unclaimed` are parameters.
fn is_free(now: &str, unclaimed: &str) -> String {
    format!(
        "due_at <= {now} AND (claimed_until IS NULL OR claimed_until <= {now} OR claimed_until >= {unclaimed})"
    )
}

/// Claims up to `share` due messages of a group and, if there is one, of a cause.
fn claim_of_group(
    c: &mut AnyConnection,
    outbox: &Outbox,
    group: &Group<'_>,
    cause: Option<&str>,
    share: usize,
) -> Result<Vec<ClaimedRow>, Error> {
    let Outbox { table, group: column, .. } = outbox;
    let lock = c.skip_locked();
    let is_free = is_free("$3", "$4");
    let of_cause = match (outbox.cause, cause) {
        (Some(column), Some(_)) => format!("{column} = $2"),
        _ => "$2 = ''".to_owned(),
    };
    // `MATERIALIZED`: the rows are selected and locked once.
    let query = format!(
        "WITH due (due_id) AS MATERIALIZED (SELECT id FROM {table} WHERE {column} = $1 AND {of_cause} AND {is_free} \
         ORDER BY due_at LIMIT $5{lock}) \
         UPDATE {table} SET claimed_until = $6, attempts = attempts + 1 FROM due \
         WHERE {column} = $1 AND id = due_id AND {is_free} RETURNING id, event, attempts, body"
    );
    let share = i64::try_from(share).unwrap_or(i64::MAX);
    Ok(database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<Text, _>(group.key)
        .bind::<Text, _>(cause.unwrap_or_default())
        .bind::<TimestampSql, _>(group.now)
        .bind::<TimestampSql, _>(unclaimed())
        .bind::<BigInt, _>(share)
        .bind::<TimestampSql, _>(group.until)
        .load(c))?)
}

#[derive(QueryableByName)]
struct CauseRow {
    #[diesel(sql_type = Text)]
    cause: String,
}

/// Divides the share of a group equally among the causes that have due messages, in rotation: those after the one that
/// got the last slot come first. Steps through the index from one cause to the next, except with Citus.
fn causes(
    c: &mut AnyConnection,
    outbox: &Outbox,
    group: &Group<'_>,
    last: &str,
    share: usize,
) -> Result<Vec<(Option<String>, usize)>, Error> {
    let Some(cause) = outbox.cause else { return Ok(vec![(None, share)]) };
    let Outbox { table, group: column, .. } = outbox;
    let is_free = is_free("$3", "$4");
    let mut found: Vec<String> = Vec::new();
    for (operator, from) in [(">", last), (">=", "")] {
        if found.len() >= share {
            break;
        }
        let query = if c.is_distributed() {
            format!(
                "SELECT {cause} AS cause FROM {table} WHERE {column} = $1 AND {cause} {operator} $2 AND {is_free} \
                 GROUP BY {cause} ORDER BY {cause} LIMIT $5"
            )
        } else {
            let next = |condition: &str| {
                format!(
                    "SELECT m.{cause} FROM {table} m WHERE m.due_at IS NOT NULL AND m.{column} = $1 \
                     AND m.{cause} {condition} ORDER BY m.{cause} LIMIT 1"
                )
            };
            let (first, following) = (next(&format!("{operator} $2")), next("> turns.cause"));
            format!(
                "WITH RECURSIVE turns (cause) AS (SELECT * FROM ({first}) AS first UNION ALL \
                 SELECT ({following}) FROM turns WHERE turns.cause IS NOT NULL) \
                 SELECT turns.cause AS cause FROM turns WHERE turns.cause IS NOT NULL AND EXISTS \
                 (SELECT 1 FROM {table} WHERE {column} = $1 AND {cause} = turns.cause AND {is_free}) LIMIT $5"
            )
        };
        let limit = i64::try_from(share).unwrap_or(i64::MAX);
        let rows: Vec<CauseRow> = database::dispatch!(c, c => diesel::sql_query(query)
            .bind::<Text, _>(group.key)
            .bind::<Text, _>(from)
            .bind::<TimestampSql, _>(group.now)
            .bind::<TimestampSql, _>(unclaimed())
            .bind::<BigInt, _>(limit)
            .load(c))?;
        for CauseRow { cause } in rows {
            if found.len() < share && !found.contains(&cause) {
                found.push(cause);
            }
        }
    }
    let count = found.len().max(1);
    let of_index = |index: usize| share / count + usize::from(index < share % count);
    Ok(found.into_iter().enumerate().map(|(index, cause)| (Some(cause), of_index(index))).collect())
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
    let is_due = is_free("$2", "$3");
    let query = if c.is_distributed() {
        // Citus has neither recursion nor correlated subqueries over several servers. Each reads its due messages.
        format!(
            "SELECT {columns} FROM (SELECT m.{group} AS key FROM {table} m WHERE {is_due} AND m.{group} {operator} $1 \
             GROUP BY m.{group}) AS turns {join} ORDER BY turns.key LIMIT $4"
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
             AND EXISTS (SELECT 1 FROM {table} m WHERE m.{group} = turns.key AND {is_due}) LIMIT $4"
        )
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<Text, _>(from)
        .bind::<TimestampSql, _>(now)
        .bind::<TimestampSql, _>(unclaimed())
        .bind::<BigInt, _>(limit)
        .load(c))?)
}
