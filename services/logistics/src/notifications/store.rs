//! Every query on notifications.
//!
//! What is pending has a `due_at`: by that the partial indexes are found on both databases.

use std::time::Duration;

use chrono::TimeDelta;
use common::Error;
use database::{AnyConnection, Id, Json, Ts};
use diesel::prelude::*;

use super::model::{Data, Event, Message, Notification, Status};
use crate::loads::Load;
use crate::schema::notifications::{self, dsl as n};

/// The delivery log of a load shows so many.
const MOST_LISTED: i64 = 1000;

/// The time by the clock that replicas share: the database's, on PostgreSQL.
fn now(c: &mut AnyConnection) -> Result<Ts, Error> {
    let AnyConnection::Postgres(c) = c else { return Ok(Ts::now()) };
    let clock = diesel::dsl::sql::<database::TsSql>("date_trunc('milliseconds', clock_timestamp())");
    Ok(diesel::select(clock).get_result(c)?)
}

fn after(at: Ts, pause: Duration) -> Ts {
    at.plus(TimeDelta::from_std(pause).unwrap_or_default())
}

/// Records an event of a load, as it is now, to be delivered at once.
pub fn create(c: &mut AnyConnection, event: Event, load: &Load, recipient_id: &str) -> Result<Id, Error> {
    let (id, at) = (Id::new(), now(c)?);
    let data = Data { notification_id: id, load_id: load.id, recipient_id, load };
    let row = (
        n::id.eq(id),
        n::load_id.eq(load.id),
        n::event.eq(event.as_str()),
        n::recipient_id.eq(recipient_id),
        n::status.eq(Status::Pending.as_str()),
        n::attempts.eq(0),
        n::created_at.eq(at),
        n::due_at.eq(at),
        n::pending_since.eq(at),
        n::body.eq(Json::of(&Message { id, event, timestamp: at, data })?),
    );
    diesel::insert_into(n::notifications).values(row).execute(c)?;
    Ok(id)
}

/// The newest notifications of a load, newest first.
pub fn list(c: &mut AnyConnection, load: Id) -> Result<Vec<Notification>, Error> {
    let of_load = n::notifications.filter(n::load_id.eq(load)).order(n::id.desc()).limit(MOST_LISTED);
    Ok(of_load.select(Notification::as_select()).load(c)?)
}

/// Makes a notification pending again, of this load if one is given, with all its tries before it. If it is being
/// delivered just now, that try ends first. Returns the state in which it was; nothing if there is none.
pub fn redeliver(c: &mut AnyConnection, load: Option<Id>, id: Id) -> Result<Option<String>, Error> {
    let found =
        n::notifications.find(id).select((n::load_id, n::status)).first::<(Id, String)>(c).optional()?;
    let Some((_, status)) = found.filter(|(of, _)| load.is_none_or(|load| load == *of)) else {
        return Ok(None);
    };
    let at = now(c)?;
    let again = (
        n::status.eq(Status::Pending.as_str()),
        n::attempts.eq(0),
        n::due_at.eq(at),
        n::pending_since.eq(at),
        n::delivered_at.eq(None::<Ts>),
    );
    diesel::update(n::notifications.find(id)).set(again).execute(c)?;
    Ok(Some(status))
}

/// How long until the next one is due, zero if one is; looks without claiming.
pub fn look(c: &mut AnyConnection) -> Result<Option<Duration>, Error> {
    let now = now(c)?;
    let free = n::claimed_until.is_null().or(n::claimed_until.le(now));
    let next = n::notifications.filter(n::due_at.is_not_null()).filter(free).order(n::due_at);
    let next = next.select(n::due_at.assume_not_null()).first::<Ts>(c).optional()?;
    Ok(next.map(|due| between(now, due)))
}

/// What is pending.
#[derive(Debug)]
pub struct Backlog {
    pub pending: i64,
    /// How long the oldest has been.
    pub oldest: Option<Duration>,
}

/// Counts what is pending.
pub fn backlog(c: &mut AnyConnection) -> Result<Backlog, Error> {
    let now = now(c)?;
    let all = n::notifications.filter(n::due_at.is_not_null());
    let oldest = all.order(n::pending_since).select(n::pending_since).first::<Ts>(c).optional()?;
    Ok(Backlog { pending: all.count().get_result(c)?, oldest: oldest.map(|at| between(at, now)) })
}

fn between(from: Ts, to: Ts) -> Duration {
    Duration::from_millis((to.millis() - from.millis()).max(0).unsigned_abs())
}

/// A notification that this process alone delivers, for as long as the lease runs.
#[derive(Clone, Debug, Queryable)]
pub struct Claimed {
    pub id: Id,
    pub load_id: Id,
    pub event: String,
    /// This one among them.
    pub attempts: i32,
    /// By which this claim is told from every other.
    pub until: Option<Ts>,
    pub body: Json,
}

/// Claims what is due, at most so many, the longest due first. On PostgreSQL several replicas may do so at once.
pub fn claim(c: &mut AnyConnection, most: usize, lease: Duration) -> Result<Vec<Claimed>, Error> {
    let now = now(c)?;
    let columns = (n::id, n::load_id, n::event, n::attempts, n::claimed_until, n::body);
    let due = n::notifications
        .filter(n::due_at.le(now))
        .filter(n::claimed_until.is_null().or(n::claimed_until.le(now)))
        .order(n::due_at)
        .limit(i64::try_from(most).unwrap_or(i64::MAX))
        .select(columns);
    let mut claimed: Vec<Claimed> = match c {
        AnyConnection::Postgres(c) => due.for_update().skip_locked().load(c)?,
        AnyConnection::Sqlite(c) => due.load(c)?,
    };
    let (until, ids) = (after(now, lease), claimed.iter().map(|claim| claim.id).collect::<Vec<_>>());
    let own = n::notifications.filter(n::id.eq_any(ids));
    let lease = (n::claimed_until.eq(until), n::attempts.eq(n::attempts + 1));
    diesel::update(own).set(lease).execute(c)?;
    for claim in &mut claimed {
        claim.attempts += 1;
        claim.until = Some(until);
    }
    Ok(claimed)
}

/// How a delivery went.
#[derive(Clone, Debug)]
pub enum Outcome {
    Delivered,
    /// To be tried again after the pause.
    Retried(Duration, String),
    /// Given up.
    Failed(String),
}

#[derive(AsChangeset)]
#[diesel(table_name = notifications, treat_none_as_null = true)]
struct Recorded {
    status: &'static str,
    due_at: Option<Ts>,
    claimed_until: Option<Ts>,
    delivered_at: Option<Ts>,
    last_error: Option<String>,
}

/// Records how a delivery went and ends its claim. Returns whether the claim was still this one: a lease that ran out,
/// or somebody who asked for redelivery, has the last word.
pub fn record(c: &mut AnyConnection, claimed: &Claimed, outcome: &Outcome) -> Result<bool, Error> {
    let now = now(c)?;
    let (status, due_at, delivered_at, last_error) = match outcome.clone() {
        Outcome::Delivered => (Status::Delivered, None, Some(now), None),
        Outcome::Retried(pause, why) => (Status::Pending, Some(after(now, pause)), None, Some(why)),
        Outcome::Failed(why) => (Status::Failed, None, None, Some(why)),
    };
    let recorded =
        Recorded { status: status.as_str(), due_at, claimed_until: None, delivered_at, last_error };
    let own = n::notifications
        .find(claimed.id)
        .filter(n::attempts.eq(claimed.attempts))
        .filter(n::claimed_until.eq(claimed.until));
    if diesel::update(own).set(recorded).execute(c)? == 1 {
        return Ok(true);
    }
    let own = n::notifications.find(claimed.id).filter(n::claimed_until.eq(claimed.until));
    diesel::update(own).set(n::claimed_until.eq(None::<Ts>)).execute(c)?;
    Ok(false)
}
