//! Queries on the events of listings.

use common::{Error, PageRequest, ResultPage, history};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::prelude::*;

use super::model::{EventType, ListingEvent, NewEvent};
use crate::listings::model::Status;
use crate::schema::listing_events::{self, dsl as e};

/// Records an event. Call it in the transaction of the change. The database assigns the event's position.
pub(crate) fn record(c: &mut AnyConnection, event: &NewEvent<'_>) -> Result<(), Error> {
    let changes = (!event.changes.is_empty()).then(|| Json::of(&event.changes)).transpose()?;
    let row = (
        e::listing_id.eq(event.listing.id),
        e::user_id.eq(event.actor.user_id),
        e::from_status.eq(event.from.map(Status::as_str)),
        e::to_status.eq(event.listing.status.as_str()),
        e::reason.eq(event.reason),
        e::at.eq(Timestamp::now()),
        e::id.eq(Id::new()),
        e::user_name.eq(event.actor.user_name),
        e::organisation_id.eq(event.actor.organisation_id),
        e::changes.eq(changes),
    );
    diesel::insert_into(listing_events::table).values(row).execute(c)?;
    Ok(())
}

/// Columns of an event. The first one is its number.
type EventRow = (
    i64,
    Option<Id>,
    Option<String>,
    String,
    String,
    Option<String>,
    Option<String>,
    Timestamp,
    Option<String>,
    Option<Json>,
);

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
        .select((
            e::n,
            e::id,
            e::from_status,
            e::to_status,
            e::user_id,
            e::user_name,
            e::organisation_id,
            e::at,
            e::reason,
            e::changes,
        ));
    let rows: Vec<EventRow> = rows.load(c)?;
    let events = rows.into_iter().map(|row| event(listing, row)).collect::<Result<Vec<_>, _>>()?;
    let mut found = history::page(events.iter().map(|(n, event)| (*n, event.id, event)), page)?;
    if count {
        found.total = Some(e::listing_events.filter(e::listing_id.eq(listing)).count().get_result(c)?);
    }
    Ok(found)
}

fn event(listing: Id, row: EventRow) -> Result<(i64, ListingEvent), Error> {
    let (n, id, from, to, user_id, user_name, organisation_id, at, reason, changes) = row;
    let event_type = EventType::of(from.as_deref(), &to);
    let event = ListingEvent {
        id: id.unwrap_or_else(|| event_type.id_without_column(listing)),
        event_type,
        from,
        to,
        user_id,
        user_name,
        organisation_id,
        at,
        reason,
        changes: changes.as_ref().map(Json::parse).transpose()?,
    };
    Ok((n, event))
}
