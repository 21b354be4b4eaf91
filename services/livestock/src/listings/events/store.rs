//! Queries on the events of listings.

use std::collections::HashMap;

use common::{Error, PageRequest, ResultPage, history};
use database::{AnyConnection, Id, Json, Timestamp, feed, prepared};
use diesel::dsl::max;
use diesel::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::model::{EventType, ListingEvent, NewEvent};
use crate::listings::model::Status;
use crate::listings::price;
use crate::organisations::is_suspended;
use crate::schema::listing_events::{self, dsl as e};
use crate::schema::sqlite_sequence;

/// Records an event. Call it in the transaction of the change. The database assigns the event's position.
pub(crate) fn record(c: &mut AnyConnection, event: &NewEvent<'_>) -> Result<(), Error> {
    // A listing shows the time of its publication too.
    let is_publication = event.listing.status == Status::Active && event.from != Some(Status::Active);
    let at = event.listing.published_at.filter(|_| is_publication).unwrap_or_else(Timestamp::now);
    let changes = (!event.changes.is_empty()).then(|| Json::of(&event.changes)).transpose()?;
    let is_hidden = is_suspended(c, &event.listing.organisation_id)?;
    let row = (
        e::hidden.eq(is_hidden.then_some(true)),
        e::listing_id.eq(event.listing.id),
        e::user_id.eq(event.actor.user_id),
        e::from_status.eq(event.from.map(Status::as_str)),
        e::to_status.eq(event.listing.status.as_str()),
        e::reason.eq(event.reason),
        e::at.eq(at),
        e::id.eq(Id::new()),
        e::user_name.eq(event.actor.user_name),
        e::organisation_id.eq(event.actor.organisation_id),
        e::changes.eq(changes),
        e::revision.eq(event.listing.revision),
        e::owner_id.eq(&event.listing.organisation_id),
    );
    diesel::insert_into(listing_events::table).values(row).execute(c)?;
    Ok(())
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = listing_events)]
struct EventRow {
    n: i64,
    id: Option<Id>,
    listing_id: Id,
    from_status: Option<String>,
    to_status: String,
    user_id: String,
    user_name: Option<String>,
    organisation_id: Option<String>,
    at: Timestamp,
    reason: Option<String>,
    changes: Option<Json>,
}

/// Returns a page of the history of a listing, oldest first, and the number of all events if `count` is true.
pub(crate) fn list(
    c: &mut AnyConnection,
    listing: Id,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let rows = e::listing_events
        .filter(e::listing_id.eq(listing))
        .filter(e::n.gt(history::last_number(page).unwrap_or_default()))
        .order(e::n)
        .offset(page.offset)
        .limit(page.fetch())
        .select(EventRow::as_select());
    let rows: Vec<EventRow> = rows.load(c)?;
    let events = rows.into_iter().map(|row| Ok((row.n, event(row)?))).collect::<Result<Vec<_>, Error>>()?;
    let mut found = history::page(events.iter().map(|(n, event)| (*n, event.id, event)), page)?;
    if count {
        found.total = Some(e::listing_events.filter(e::listing_id.eq(listing)).count().get_result(c)?);
    }
    Ok(found)
}

/// Returns the events with these numbers, each with its number and the revision of the listing after it.
pub(crate) fn list_by_numbers(
    c: &mut AnyConnection,
    numbers: &[i64],
) -> Result<Vec<(i64, Option<i64>, ListingEvent)>, Error> {
    let of_numbers = prepared::has_number(c, "listing_events.n", numbers);
    let rows = e::listing_events.filter(of_numbers).select((EventRow::as_select(), e::revision));
    let rows: Vec<(EventRow, Option<i64>)> = rows.load(c)?;
    rows.into_iter().map(|(row, revision)| Ok((row.n, revision, event(row)?))).collect()
}

/// Lists events after this number that a user caused, each with its number and the id of its listing.
pub(crate) fn list_of_user(
    c: &mut AnyConnection,
    user_id: &str,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, Id, ListingEvent)>, Error> {
    let of_user = e::listing_events.filter(e::user_id.eq(user_id)).filter(e::n.gt(after));
    let rows: Vec<EventRow> = of_user.order(e::n).limit(limit).select(EventRow::as_select()).load(c)?;
    rows.into_iter().map(|row| Ok((row.n, row.listing_id, event(row)?))).collect()
}

/// Returns changes without amounts that the type of the price did not use. Earlier releases stored these.
fn shown_changes(changes: &Json) -> Result<Option<Box<RawValue>>, Error> {
    if !changes.0.contains("\"price\"") {
        return Ok(Some(changes.parse()?));
    }
    let mut changes: Map<String, Value> = changes.parse()?;
    if let Some(change) = changes.get_mut("price") {
        for side in ["from", "to"] {
            change.get_mut(side).map(price::remove_unused);
        }
        if change["from"] == change["to"] {
            changes.remove("price");
        }
    }
    Ok(if changes.is_empty() { None } else { Some(serde_json::value::to_raw_value(&changes)?) })
}

/// Returns when the listings among these that were published were published first.
pub(crate) fn published_at(c: &mut AnyConnection, ids: &[Id]) -> Result<HashMap<Id, Timestamp>, Error> {
    let active = Status::Active.as_str();
    let events = e::listing_events
        .filter(e::listing_id.eq_any(ids))
        .filter(e::to_status.eq(active))
        .filter(e::from_status.is_null().or(e::from_status.ne(active)))
        // A listing is published once.
        .order(e::n.desc())
        .select((e::listing_id, e::at));
    Ok(events.load::<(Id, Timestamp)>(c)?.into_iter().collect())
}

fn event(row: EventRow) -> Result<ListingEvent, Error> {
    let event_type = EventType::of(row.from_status.as_deref(), &row.to_status);
    Ok(ListingEvent {
        id: row.id.unwrap_or_else(|| event_type.id_without_column(row.listing_id)),
        event_type,
        from: row.from_status,
        to: row.to_status,
        user_id: row.user_id,
        user_name: row.user_name,
        organisation_id: row.organisation_id,
        at: row.at,
        reason: row.reason,
        changes: row.changes.as_ref().map(shown_changes).transpose()?.flatten(),
    })
}

/// Returns the position before which no event can appear any more. On SQLite, which numbers events in the order of
/// their commits, it is a number.
pub(crate) fn current_position(c: &mut AnyConnection) -> Result<i64, Error> {
    Ok(match c {
        AnyConnection::Sqlite(_) => {
            let last: Option<i64> = e::listing_events.select(max(e::n)).get_result(c)?;
            last.unwrap_or_default() + 1
        }
        AnyConnection::Postgres(_) => feed::settled_position(c)?,
    })
}

/// Returns the numbers and listings of the events from a [position](current_position) on.
pub(crate) fn list_since(c: &mut AnyConnection, position: i64) -> Result<Vec<(i64, Id)>, Error> {
    let events = e::listing_events.select((e::n, e::listing_id)).into_boxed();
    Ok(match c {
        AnyConnection::Sqlite(_) => events.filter(e::n.ge(position)).load(c)?,
        AnyConnection::Postgres(_) => events.filter(e::position.ge(position)).load(c)?,
    })
}

/// Takes numbers on SQLite that no event of a listing gets. Returns the first of them.
pub(crate) fn take_numbers(c: &mut AnyConnection, count: usize) -> Result<i64, Error> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let sequence = sqlite_sequence::table.filter(sqlite_sequence::name.eq("listing_events"));
    let taken = diesel::update(sequence).set(sqlite_sequence::seq.eq(sqlite_sequence::seq + count));
    let last: i64 = match c {
        AnyConnection::Sqlite(c) => taken.returning(sqlite_sequence::seq).get_result(c)?,
        AnyConnection::Postgres(_) => {
            return Err(Error::Internal(anyhow::anyhow!("PostgreSQL assigns the numbers of events")));
        }
    };
    Ok(last - count + 1)
}
