//! Every query on notifications.
//!
//! What is pending has a `due_at`: by that the partial indexes are found on both databases.

use std::time::Duration;

use chrono::TimeDelta;
use common::Error;
use database::{AnyConnection, Id, Json, Timestamp, shared_now};
use diesel::prelude::*;

use super::claim::store::Claimed;
use super::model::{Data, Event, Message, Notification, Status};
use crate::loads::Load;
use crate::schema::notifications::{self, dsl as n};

/// The delivery log of a load shows so many.
const MAX_LISTED: i64 = 1000;

/// A notification to store. `sender` is empty for an administrator without an organisation.
pub struct Sending<'a> {
    pub sender: &'a str,
    pub event: Event,
    pub load: &'a Load,
    pub recipient_id: &'a str,
}

/// Records an event of a load, as it is now, to be delivered at once. While one of the same load, event and recipient is
/// pending no other is recorded: its id is returned, the newest if there are several. It shows the load as it is now, unless a delivery
/// was tried: a receiver that knows its id may have its content already.
pub fn create(c: &mut AnyConnection, sending: &Sending<'_>) -> Result<Id, Error> {
    if let Some(id) = update_pending(c, sending)? {
        return Ok(id);
    }
    let (id, at) = (Id::new(), shared_now(c)?);
    let row = (
        n::id.eq(id),
        n::load_id.eq(sending.load.id),
        n::event.eq(sending.event.as_str()),
        n::recipient_id.eq(sending.recipient_id),
        n::status.eq(Status::Pending.as_str()),
        n::attempts.eq(0),
        n::created_at.eq(at),
        n::due_at.eq(at),
        n::pending_since.eq(at),
        n::body.eq(body(id, at, sending)?),
        n::organisation_id.eq(sending.sender),
        n::collapses.eq(true),
    );
    // Of two at once PostgreSQL makes the second wait for the first, and run again: it finds the first one's row.
    let stored = database::dispatch!(c, c => diesel::insert_into(n::notifications)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c))?;
    if stored == 0 {
        return Err(Error::Internal(anyhow::anyhow!("a pending notification was there and was not found")));
    }
    Ok(id)
}

fn update_pending(c: &mut AnyConnection, sending: &Sending<'_>) -> Result<Option<Id>, Error> {
    let pending = n::notifications
        .filter(n::load_id.eq(sending.load.id))
        .filter(n::event.eq(sending.event.as_str()))
        .filter(n::recipient_id.eq(sending.recipient_id))
        .filter(n::due_at.is_not_null())
        .order(n::id.desc())
        .select((n::id, n::created_at, n::pending_since, n::attempts));
    let Some((id, created_at, pending_since, attempts)) =
        pending.first::<(Id, Timestamp, Timestamp, i32)>(c).optional()?
    else {
        return Ok(None);
    };
    if attempts == 0 && pending_since == created_at {
        let body = body(id, created_at, sending)?;
        diesel::update(n::notifications.find(id)).set(n::body.eq(body)).execute(c)?;
    }
    Ok(Some(id))
}

fn body(id: Id, timestamp: Timestamp, sending: &Sending<'_>) -> Result<Json, Error> {
    let Sending { event, load, recipient_id, .. } = *sending;
    let data = Data { notification_id: id, load_id: load.id, recipient_id, load };
    Ok(Json::of(&Message { id, event, timestamp, data })?)
}

/// The newest notifications of a load, newest first.
pub fn list(c: &mut AnyConnection, load: Id) -> Result<Vec<Notification>, Error> {
    let of_load = n::notifications.filter(n::load_id.eq(load)).order(n::id.desc()).limit(MAX_LISTED);
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
    let at = shared_now(c)?;
    let again = (
        n::status.eq(Status::Pending.as_str()),
        n::attempts.eq(0),
        n::due_at.eq(at),
        n::pending_since.eq(at),
        n::delivered_at.eq(None::<Timestamp>),
        // Another one of the same load, event and recipient may be pending.
        n::collapses.eq(None::<bool>),
    );
    diesel::update(n::notifications.find(id)).set(again).execute(c)?;
    Ok(Some(status))
}

/// How long until the next one is due, zero if one is; looks without claiming.
pub fn look(c: &mut AnyConnection) -> Result<Option<Duration>, Error> {
    let now = shared_now(c)?;
    let free = n::claimed_until.is_null().or(n::claimed_until.le(now));
    let next = n::notifications.filter(n::due_at.is_not_null()).filter(free).order(n::due_at);
    let next = next.select(n::due_at.assume_not_null()).first::<Timestamp>(c).optional()?;
    Ok(next.map(|due| now.until(due)))
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
    let now = shared_now(c)?;
    let all = n::notifications.filter(n::due_at.is_not_null());
    let oldest = all.order(n::pending_since).select(n::pending_since).first::<Timestamp>(c).optional()?;
    Ok(Backlog { pending: all.count().get_result(c)?, oldest: oldest.map(|at| at.until(now)) })
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
    due_at: Option<Timestamp>,
    claimed_until: Option<Timestamp>,
    delivered_at: Option<Timestamp>,
    last_error: Option<String>,
}

/// Records how a delivery went and ends its claim. One that is settled is kept from then on, however long it was pending:
/// its `pending_since` becomes the time at which it was settled. Returns whether the claim was still this one: a lease that
/// ran out, or somebody who asked for redelivery, has the last word.
pub fn record(c: &mut AnyConnection, claimed: &Claimed, outcome: &Outcome) -> Result<bool, Error> {
    let now = shared_now(c)?;
    let (status, due_at, delivered_at, last_error) = match outcome.clone() {
        Outcome::Delivered => (Status::Delivered, None, Some(now), None),
        Outcome::Retried(pause, why) => (Status::Pending, Some(now.after(pause)), None, Some(why)),
        Outcome::Failed(why) => (Status::Failed, None, None, Some(why)),
    };
    let recorded =
        Recorded { status: status.as_str(), due_at, claimed_until: None, delivered_at, last_error };
    let own = n::notifications
        .find(claimed.id)
        .filter(n::attempts.eq(claimed.attempts))
        .filter(n::claimed_until.eq(claimed.until));
    let settled_since = due_at.is_none().then(|| n::pending_since.eq(now));
    if diesel::update(own).set((recorded, settled_since)).execute(c)? == 1 {
        return Ok(true);
    }
    let own = n::notifications.find(claimed.id).filter(n::claimed_until.eq(claimed.until));
    diesel::update(own).set(n::claimed_until.eq(None::<Timestamp>)).execute(c)?;
    Ok(false)
}

/// This many are deleted at once, which takes some 20 ms.
pub const PRUNE_BATCH_SIZE: u32 = 1_000;

/// Deletes some of those that were delivered or failed longer ago than `age`. Returns how many.
pub fn prune(c: &mut AnyConnection, age: Duration) -> Result<usize, Error> {
    let before = shared_now(c)?.plus(-TimeDelta::from_std(age).unwrap_or(TimeDelta::MAX));
    let old = n::notifications.filter(n::due_at.is_null()).filter(n::pending_since.lt(before));
    let old = old.order(n::pending_since).limit(PRUNE_BATCH_SIZE.into()).select(n::id);
    let ids: Vec<Id> = match c {
        AnyConnection::Postgres(c) => old.for_update().skip_locked().load(c)?,
        AnyConnection::Sqlite(c) => old.load(c)?,
    };
    if ids.is_empty() {
        return Ok(0);
    }
    Ok(diesel::delete(n::notifications.filter(n::id.eq_any(ids))).execute(c)?)
}
