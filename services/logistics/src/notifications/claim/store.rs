//! The queries that claim what is due.

use common::Error;
use database::{AnyConnection, Id, Json, Timestamp, TimestampSql, shared_now};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use super::ClaimRequest;
use crate::schema::notifications::dsl as n;

/// A notification that this process alone delivers, for as long as the lease runs.
#[derive(Clone, Debug, Queryable)]
pub struct Claimed {
    pub id: Id,
    pub load_id: Id,
    /// The organisation that sent it.
    pub organisation_id: String,
    pub event: String,
    /// This one among them.
    pub attempts: i32,
    /// End of the lease; identifies this claim.
    pub until: Option<Timestamp>,
    pub body: Json,
}

/// Claims what is due, an equal share for each of the organisations whose turn is next, the longest due first. On
/// PostgreSQL several replicas may do so at once.
pub fn claim(c: &mut AnyConnection, request: &ClaimRequest) -> Result<Vec<Claimed>, Error> {
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
    let (until, ids) = (now.after(request.lease), claimed.iter().map(|claim| claim.id).collect::<Vec<_>>());
    let own = n::notifications.filter(n::id.eq_any(ids));
    let lease = (n::claimed_until.eq(until), n::attempts.eq(n::attempts + 1));
    diesel::update(own).set(lease).execute(c)?;
    for claim in &mut claimed {
        claim.attempts += 1;
        claim.until = Some(until);
    }
    Ok(claimed)
}

#[derive(QueryableByName)]
struct DueOrganisation {
    #[diesel(sql_type = Text)]
    organisation_id: String,
}

/// The organisations that have something due and may hold more slots, as many as there are free slots, beginning after
/// the one whose turn was last.
fn next_organisations(
    c: &mut AnyConnection,
    request: &ClaimRequest,
    now: Timestamp,
) -> Result<Vec<String>, Error> {
    let limit = request.slots + request.in_flight.len();
    let mut turns = Vec::new();
    for (operator, from) in [(">", request.last.as_str()), (">=", "")] {
        if turns.len() < limit {
            let found = due_organisations(c, operator, from, now, limit)?;
            turns.extend(found.into_iter().map(|due| due.organisation_id));
        }
    }
    let mut next: Vec<String> = Vec::new();
    for organisation in turns {
        if next.len() < request.slots && !request.is_full(&organisation) && !next.contains(&organisation) {
            next.push(organisation);
        }
    }
    Ok(next)
}

/// Organisations with something due, in order. Goes from one organisation to the next in the index, past all else that
/// they have pending.
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
