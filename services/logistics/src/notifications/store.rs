//! Queries on notifications, except those of their delivery ([`outbox`]).

use std::collections::HashSet;

use common::{Caller, Error, PageRequest, ResultPage};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp, shared_now};
use diesel::dsl::{exists, not, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use outbox::{Channel as _, Status};
use serde::Serialize;

use super::channel::Channel;
use super::model::{Event, Message, MessageData, NewNotification, Notification};
use crate::schema::load_events::dsl as e;
use crate::schema::loads::dsl as l;
use crate::schema::notifications::{self, dsl as n};

/// Maximum number of entries in the delivery log of a load.
const MAX_LISTED: i64 = 1000;

/// The notification that sending a load leads to.
pub(crate) struct Created {
    pub(crate) id: Id,
    /// False if it was pending already.
    pub(crate) is_new: bool,
}

/// Stores a notification that is due at once, with the current content of its load.
///
/// If a notification of the same load, event and recipient is pending, stores no other and returns the newest one. Its
/// content becomes the current one, unless a delivery was attempted: the receiver may have the earlier content under
/// the same id.
pub(crate) fn create<L: Serialize>(
    c: &mut AnyConnection,
    new: &NewNotification<'_, L>,
) -> Result<Created, Error> {
    create_with_id(c, Id::new(), new)
}

/// As [`create`], with an id for the notification if it is a new one.
pub(crate) fn create_with_id<L: Serialize>(
    c: &mut AnyConnection,
    id: Id,
    new: &NewNotification<'_, L>,
) -> Result<Created, Error> {
    if let Some(id) = update_pending(c, new)? {
        return Ok(Created { id, is_new: false });
    }
    let row = NotificationRow::new(id, shared_now(c)?, new)?;
    insert(c, vec![row])?;
    Ok(Created { id, is_new: true })
}

/// Stores notifications of one event of different loads, as [`create`] does.
pub(crate) fn create_many<L: Serialize>(
    c: &mut AnyConnection,
    all: &[NewNotification<'_, L>],
) -> Result<(), Error> {
    let Some(first) = all.first() else { return Ok(()) };
    let loads: Vec<Id> = all.iter().map(|new| new.load_id).collect();
    let pending = n::notifications.filter(n::load_id.eq_any(loads)).filter(n::due_at.is_not_null());
    let pending = pending.filter(n::event.eq(first.event.into_str())).select(n::load_id);
    let pending: HashSet<Id> = pending.load::<Id>(c)?.into_iter().collect();
    let at = shared_now(c)?;
    let mut rows = Vec::new();
    for new in all {
        if pending.contains(&new.load_id) {
            create(c, new)?;
        } else {
            rows.push(NotificationRow::new(Id::new(), at, new)?);
        }
    }
    insert(c, rows)
}

/// A notification that is due at once.
#[derive(Insertable)]
#[diesel(table_name = notifications)]
struct NotificationRow<'a> {
    id: Id,
    load_id: Id,
    event: &'static str,
    recipient_id: &'a str,
    status: &'static str,
    attempts: i32,
    created_at: Timestamp,
    due_at: Timestamp,
    pending_since: Timestamp,
    body: Json,
    organisation_id: &'a str,
    collapses: bool,
}

impl<'a> NotificationRow<'a> {
    fn new<L: Serialize>(id: Id, at: Timestamp, new: &NewNotification<'a, L>) -> Result<Self, Error> {
        Ok(Self {
            id,
            load_id: new.load_id,
            event: new.event.into_str(),
            recipient_id: new.recipients.id(),
            status: Status::Pending.into_str(),
            attempts: 0,
            created_at: at,
            due_at: at,
            pending_since: at,
            body: body(id, at, new)?,
            organisation_id: new.sender_id,
            collapses: true,
        })
    }
}

fn insert(c: &mut AnyConnection, rows: Vec<NotificationRow<'_>>) -> Result<(), Error> {
    let count = rows.len();
    // Of two concurrent inserts, PostgreSQL makes the second wait for the first and run again: it then finds that row.
    let stored = match c {
        AnyConnection::Postgres(c) => {
            diesel::insert_into(n::notifications).values(rows).on_conflict_do_nothing().execute(c)?
        }
        AnyConnection::Sqlite(c) => {
            let mut stored = 0;
            for row in rows {
                let insert = diesel::insert_into(n::notifications).values(row);
                stored += insert.on_conflict_do_nothing().execute(c)?;
            }
            stored
        }
    };
    if stored < count {
        return Err(Error::Internal(anyhow::anyhow!("a conflicting pending notification was not found")));
    }
    Ok(())
}

/// Returns true if a load was sent to a recipient before this notification, which is kept for 30 days.
pub(crate) fn was_sent_before(
    c: &mut AnyConnection,
    load_id: Id,
    event: Event,
    recipient: &str,
    notification: Id,
) -> Result<bool, Error> {
    let of_load = n::notifications.filter(n::load_id.eq(load_id)).filter(n::id.ne(notification));
    let earlier = of_load.filter(n::event.eq(event.into_str())).filter(n::recipient_id.eq(recipient));
    Ok(diesel::select(exists(earlier)).get_result(c)?)
}

/// Updates the content of a pending notification of the same load, event and recipient that was not attempted yet.
/// Returns its id, also if it was attempted.
fn update_pending<L: Serialize>(
    c: &mut AnyConnection,
    new: &NewNotification<'_, L>,
) -> Result<Option<Id>, Error> {
    let pending = n::notifications
        .filter(n::load_id.eq(new.load_id))
        .filter(n::event.eq(new.event.into_str()))
        .filter(n::recipient_id.eq(new.recipients.id()))
        .filter(n::due_at.is_not_null())
        .order(n::id.desc())
        .select((n::id, n::created_at, n::pending_since, n::attempts));
    let Some((id, created_at, pending_since, attempts)) =
        pending.first::<(Id, Timestamp, Timestamp, i32)>(c).optional()?
    else {
        return Ok(None);
    };
    if attempts == 0 && pending_since == created_at {
        let body = body(id, created_at, new)?;
        diesel::update(n::notifications.find(id)).set(n::body.eq(body)).execute(c)?;
    }
    Ok(Some(id))
}

fn body<L: Serialize>(id: Id, timestamp: Timestamp, new: &NewNotification<'_, L>) -> Result<Json, Error> {
    let NewNotification { event, load_id, load, recipients, .. } = *new;
    let data = MessageData { notification_id: id, load_id, recipients, load };
    Ok(Json::of(&Message { id, event, timestamp, data })?)
}

/// Returns the newest 1,000 notifications of a load that the caller may read, newest first. With `since`, those to the
/// caller's organisation, and those from then on.
pub(crate) fn list(
    c: &mut AnyConnection,
    caller: &Caller,
    load_id: Id,
    since: Option<Timestamp>,
) -> Result<Vec<Notification>, Error> {
    let mut of_load = notifications::table.filter(n::load_id.eq(load_id)).into_boxed();
    if let Some(since) = since {
        let own = n::recipient_id.eq(caller.organisation_id_or_empty());
        of_load = of_load.filter(own.or(n::created_at.gt(since)));
    }
    let newest = of_load.order(n::id.desc()).limit(MAX_LISTED);
    Ok(newest.select(Notification::as_select()).load(c)?)
}

/// A search for notifications: filters that a notification must all pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct NotificationSearch {
    /// A text that is no id matches nothing.
    pub load_id: Option<String>,
    pub event: Option<String>,
    pub status: Option<String>,
}

/// Selects the notifications of loads whose organiser or carrier is the caller's organisation; all for `admin`. A
/// carrier sees its own, and those since it became the carrier.
fn visible(caller: &Caller) -> notifications::BoxedQuery<'_, MultiBackend> {
    let all = notifications::table.into_boxed();
    if caller.admin {
        return all;
    }
    let own = caller.organisation_id_or_empty();
    let of_party = l::organiser_id.eq(own).or(l::carrier_id.eq(own));
    let of_load = || l::loads.filter(l::id.eq(n::load_id));
    let organised = of_load().filter(l::organiser_id.eq(own));
    let later_carrier = e::load_events
        .filter(e::load_id.eq(n::load_id))
        .filter(e::at.ge(n::created_at))
        // An index has these events.
        .filter(sql::<Bool>("(load_events.changes -> 'carrierId') IS NOT NULL"));
    all.filter(exists(of_load().filter(of_party)))
        .filter(n::recipient_id.eq(own).or(exists(organised)).or(not(exists(later_carrier))))
}

fn matches<'a>(
    caller: &'a Caller,
    search: &'a NotificationSearch,
) -> notifications::BoxedQuery<'a, MultiBackend> {
    let mut query = visible(caller);
    if let Some(id) = &search.load_id {
        query = query.filter(n::load_id.nullable().eq(Id::parse(id)));
    }
    if let Some(event) = &search.event {
        query = query.filter(n::event.eq(event));
    }
    if let Some(status) = &search.status {
        query = query.filter(n::status.eq(status));
    }
    query
}

/// Returns a page of the notifications that the caller may see, newest first, and the number of all if `count` is true.
pub(crate) fn search(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &NotificationSearch,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let mut query = matches(caller, search);
    if let Some((_, last)) = page.position() {
        query = query.filter(n::id.lt(last));
    }
    let query = query.order(n::id.desc()).offset(page.offset).limit(page.fetch());
    let rows: Vec<Notification> = query.select(Notification::as_select()).load(c)?;
    let total = count.then(|| matches(caller, search).count().get_result(c)).transpose()?;
    ResultPage::newest_first(rows.iter().map(|row| Ok((row.id, row))), page, total)
}

/// Deletes the notifications of a load to a driver or a carrier that are still pending.
pub(crate) fn drop_pending(
    c: &mut AnyConnection,
    load_id: Id,
    event: Event,
    recipient: &str,
) -> Result<(), Error> {
    let pending = n::notifications
        .filter(n::load_id.eq(load_id))
        .filter(n::event.eq(event.into_str()))
        .filter(n::recipient_id.eq(recipient))
        .filter(n::due_at.is_not_null());
    diesel::delete(pending).execute(c)?;
    Ok(())
}

/// Makes a notification pending again, with no attempts. A delivery that is in progress ends first. Returns the
/// previous status, or `None` if the notification does not exist or is not of the load `load_id`.
pub(crate) fn redeliver(c: &mut AnyConnection, load_id: Option<Id>, id: Id) -> Result<Option<String>, Error> {
    let columns = (n::load_id, n::status, n::organisation_id);
    let row = n::notifications.find(id).select(columns).first::<(Id, String, String)>(c).optional()?;
    let of_load = row.filter(|(of, ..)| load_id.is_none_or(|load_id| load_id == *of));
    let Some((_, status, organisation_id)) = of_load else { return Ok(None) };
    outbox::redeliver(c, &Channel::OUTBOX, &organisation_id, id)?;
    Ok(Some(status))
}
