//! The queries on events.

use common::{Error, PageRequest, ResultPage, history};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::prelude::*;

use super::model::{EventType, LoadEvent, NewEvent};
use crate::schema::load_events::{self, dsl as e};
use crate::schema::loads::dsl as l;

/// Records an event. Call it in the transaction of the change.
pub(crate) fn record(c: &mut AnyConnection, event: &NewEvent<'_>) -> Result<(), Error> {
    let name: &'static str = event.event_type.into();
    let changes = (!event.changes.is_empty()).then(|| Json::of(&event.changes)).transpose()?;
    let row = (
        e::id.eq(Id::new()),
        e::load_id.eq(event.load_id),
        e::event_type.eq(name),
        e::user_id.eq(&event.caller.user_id),
        e::user_name.eq(&event.caller.user_name),
        e::organisation_id.eq(event.caller.organisation.as_ref().map(|own| &own.id)),
        e::at.eq(Timestamp::now()),
        e::reason.eq(event.reason),
        e::changes.eq(changes),
    );
    diesel::insert_into(load_events::table).values(row).execute(c)?;
    Ok(())
}

/// Columns of an event. The first one is its number.
type EventRow = (
    i64,
    Id,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Timestamp,
    Option<String>,
    Option<Json>,
);

/// Returns a page of the history of a load, oldest first, and the number of all events if `count` is true.
///
/// The first events are read from the row of the load: its creation, which is therefore not stored twice, and what an
/// earlier release did without recording an event.
pub(crate) fn list(
    c: &mut AnyConnection,
    load_id: Id,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let first = events_of_row(c, load_id)?;
    let number = |index: usize| i64::try_from(index).unwrap_or(i64::MAX);
    let length = number(first.len());
    // Events of the row have the numbers -length to -1, stored ones begin at 1.
    let last = history::last_number(page).unwrap_or(page.offset.min(length) - length - 1);
    let mut rows: Vec<(LoadEvent, i64)> = Vec::new();
    for (index, event) in first.into_iter().enumerate() {
        let n = number(index) - length;
        if n > last {
            rows.push((event, n));
        }
    }
    let stored = e::load_events
        .filter(e::load_id.eq(load_id))
        .filter(e::n.gt(last))
        .order(e::n)
        .offset((page.offset - length).max(0))
        .limit((page.fetch() - number(rows.len())).max(0))
        .select((
            e::n,
            e::id,
            e::event_type,
            e::user_id,
            e::user_name,
            e::organisation_id,
            e::at,
            e::reason,
            e::changes,
        ));
    for row in stored.load::<EventRow>(c)? {
        rows.push((event(&row)?, row.0));
    }
    let mut found = history::page(rows.iter().map(|(event, n)| (*n, event.id, event)), page)?;
    if count {
        let stored: i64 = e::load_events.filter(e::load_id.eq(load_id)).count().get_result(c)?;
        found.total = Some(stored + length);
    }
    Ok(found)
}

fn event(row: &EventRow) -> Result<LoadEvent, Error> {
    let (_, id, event_type, user_id, user_name, organisation_id, at, reason, changes) = row.clone();
    let changes = changes.as_ref().map(Json::parse).transpose()?;
    Ok(LoadEvent { id, event_type, user_id, user_name, organisation_id, at, reason, changes })
}

/// Columns of a load from which its first events are read.
type LoadColumns = (
    Timestamp,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<Timestamp>,
    Option<Timestamp>,
    Option<String>,
);

/// Returns the events that the row of a load tells, oldest first.
fn events_of_row(c: &mut AnyConnection, load_id: Id) -> Result<Vec<LoadEvent>, Error> {
    let columns = (
        l::created_at,
        l::created_by,
        l::creator_id,
        l::creator_name,
        l::organiser_id,
        l::carrier_id,
        l::completed_at,
        l::accepted_at,
        l::accepted_by,
    );
    let row: LoadColumns = l::loads.find(load_id).select(columns).first(c)?;
    let (created_at, created_by, user_id, user_name, organiser, carrier, completed_at, accepted_at, by) = row;
    let creator = created_by.or_else(|| organiser.clone().or(carrier)).filter(|id| !id.is_empty());
    let is_older = user_id.is_none();
    let of_row = |event_type: EventType, at, user_id, organisation_id| LoadEvent {
        id: id_of(load_id, event_type),
        event_type: <&'static str>::from(event_type).to_owned(),
        user_id,
        user_name: None,
        organisation_id,
        at,
        reason: None,
        changes: None,
    };
    let created = LoadEvent { user_name, ..of_row(EventType::Created, created_at, user_id, creator) };
    let mut events = vec![created];
    if is_older && (completed_at.is_some() || accepted_at.is_some()) {
        let recorded: Vec<String> =
            e::load_events.filter(e::load_id.eq(load_id)).select(e::event_type).distinct().load(c)?;
        let is_recorded =
            |event_type: EventType| recorded.iter().any(|name| name == <&'static str>::from(event_type));
        if let Some(at) = completed_at.filter(|_| !is_recorded(EventType::Completed)) {
            events.push(of_row(EventType::Completed, at, None, None));
        }
        if let Some(at) = accepted_at.filter(|_| !is_recorded(EventType::Accepted)) {
            events.push(of_row(EventType::Accepted, at, by, organiser));
        }
        events[1..].sort_by_key(|event| event.at);
    }
    Ok(events)
}

/// Returns the id of an event that the row of a load tells: the load's id, with another last bit for each type.
fn id_of(load_id: Id, event_type: EventType) -> Id {
    match event_type {
        EventType::Completed => load_id.variant(1),
        EventType::Accepted => load_id.variant(2),
        _ => load_id,
    }
}
