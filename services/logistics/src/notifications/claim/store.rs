//! The queries that claim due notifications.

use common::Error;
use database::{AnyConnection, Timestamp, TimestampSql, shared_now};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use super::ClaimRequest;
use crate::notifications::model::Claimed;
use crate::schema::notifications::dsl as n;

/// Claims due notifications: an equal share for each of the organisations whose turn is next, of each the longest due
/// first. On PostgreSQL several replicas can claim at once: rows that another one locks are skipped.
pub(crate) fn claim(c: &mut AnyConnection, request: &ClaimRequest) -> Result<Vec<Claimed>, Error> {
    let now = shared_now(c)?;
    let columns = (n::id, n::load_id, n::organisation_id, n::event, n::attempts, n::claimed_until, n::body);
    let mut claimed: Vec<Claimed> = Vec::new();
    for (organisation_id, share) in request.shares(next_organisations(c, request, now)?) {
        let due = n::notifications
            .filter(n::organisation_id.eq(organisation_id))
            .filter(n::due_at.le(now))
            .filter(n::claimed_until.is_null().or(n::claimed_until.le(now)))
            .order(n::due_at)
            .limit(i64::try_from(share).unwrap_or(i64::MAX))
            .select(columns);
        claimed.extend::<Vec<_>>(match c {
            AnyConnection::Postgres(c) => due.for_update().skip_locked().load(c)?,
            AnyConnection::Sqlite(c) => due.load(c)?,
        });
    }
    let (until, ids) =
        (now.after(request.lease), claimed.iter().map(|claimed| claimed.id).collect::<Vec<_>>());
    let rows = n::notifications.filter(n::id.eq_any(ids));
    let lease = (n::claimed_until.eq(until), n::attempts.eq(n::attempts + 1));
    diesel::update(rows).set(lease).execute(c)?;
    for notification in &mut claimed {
        notification.attempts += 1;
        notification.until = Some(until);
    }
    Ok(claimed)
}

#[derive(QueryableByName)]
struct DueOrganisation {
    #[diesel(sql_type = Text)]
    organisation_id: String,
}

/// Returns the organisations that have due notifications and may hold more slots, at most one for each free slot, in
/// rotation: those after the one that got the last slot come first.
fn next_organisations(
    c: &mut AnyConnection,
    request: &ClaimRequest,
    now: Timestamp,
) -> Result<Vec<String>, Error> {
    let limit = request.slots + request.in_flight.len();
    let mut candidates = Vec::new();
    for (operator, from) in [(">", request.last.as_str()), (">=", "")] {
        if candidates.len() < limit {
            let rows = due_organisations(c, operator, from, now, limit)?;
            candidates.extend(rows.into_iter().map(|row| row.organisation_id));
        }
    }
    let mut next: Vec<String> = Vec::new();
    for organisation in candidates {
        if next.len() < request.slots && !request.is_full(&organisation) && !next.contains(&organisation) {
            next.push(organisation);
        }
    }
    Ok(next)
}

/// Returns organisations with due notifications, ordered by id, from those whose id is `operator` `from` (`>` or `>=`).
/// Steps through the index from one organisation to the next, whatever number of notifications they have pending.
fn due_organisations(
    c: &mut AnyConnection,
    operator: &str,
    from: &str,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<DueOrganisation>, Error> {
    let next = |condition: &str| {
        format!(
            "SELECT n.organisation_id FROM notifications n WHERE n.due_at IS NOT NULL AND n.organisation_id {condition} \
             ORDER BY n.organisation_id LIMIT 1"
        )
    };
    let (first, following) = (next(&format!("{operator} $1")), next("> turns.organisation_id"));
    let query = format!(
        "WITH RECURSIVE turns (organisation_id) AS (SELECT * FROM ({first}) AS first UNION ALL \
         SELECT ({following}) FROM turns WHERE turns.organisation_id IS NOT NULL) \
         SELECT organisation_id FROM turns WHERE organisation_id IS NOT NULL AND EXISTS (SELECT 1 FROM notifications n \
         WHERE n.organisation_id = turns.organisation_id AND n.due_at <= $2 \
         AND (n.claimed_until IS NULL OR n.claimed_until <= $2)) LIMIT $3"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(database::dispatch!(c, c => diesel::sql_query(query)
        .bind::<Text, _>(from)
        .bind::<TimestampSql, _>(now)
        .bind::<BigInt, _>(limit)
        .load(c))?)
}
