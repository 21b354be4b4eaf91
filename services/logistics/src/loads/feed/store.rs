//! Queries on the feed.
//!
//! A page reads the next events from one index for each column with readers. A page of some types, or of a driver,
//! reads the places of the next events first, and then those that it shows. The number of places is limited, so such a
//! page may have fewer events than its limit although `more` is true.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::feed::{FeedEvents, FeedPage, MAX_WITH_RESOURCES, NewEvents, Place, Readers};
use common::{Caller, Error};
use database::{AnyConnection, Id, Json, MultiBackend, feed, prepared};
use diesel::dsl::{AsExprOf, max, sql};
use diesel::expression::{SqlLiteral, UncheckedBind};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::model::{FeedEventType, FeedLoadEvent, FeedReader, FeedSearch};
use crate::loads::history::{self, EVENT_COLUMNS, EventColumns, EventRow, EventType};
use crate::loads::store::list_by_ids;
use crate::schema::load_drivers::dsl as d;
use crate::schema::load_events::{self, dsl as e};

/// The most places that a page reads if it leaves some events out.
const MAX_PLACES: usize = 2_000;
/// The most new events whose readers are found at a time.
const MAX_NEW: usize = 1_000;
/// On SQLite, the position before those of all events: events of older versions have -1 and 0.
const BEFORE_OLDEST: i64 = -2;

type EventQuery<'a> = load_events::BoxedQuery<'a, MultiBackend>;

/// The columns of the place of an event, which are in every index of the feed.
type PlaceRow = (i64, i64);

/// The place of an event, its type and its load.
type Key = (PlaceRow, String, Id);

fn place_of((position, n): PlaceRow) -> Place {
    Place { position, n }
}

/// Moves the positions of new events beyond those of all others. Call it before events are recorded.
pub(crate) fn align(c: &mut AnyConnection) -> Result<(), Error> {
    let last: Option<i64> = e::load_events.select(max(e::position)).get_result(c)?;
    Ok(feed::align(c, last)?)
}

/// Returns the greatest number of the events.
fn last_number(c: &mut AnyConnection) -> Result<i64, Error> {
    let last: Option<i64> = e::load_events.select(max(e::n)).get_result(c)?;
    Ok(last.unwrap_or_default())
}

/// Returns the place after all events that are settled.
fn end(c: &mut AnyConnection) -> Result<Place, Error> {
    let last = last_number(c)?;
    Place::end(c, last)
}

/// Events between a place and the position before which all are settled, oldest first; on SQLite those of one position,
/// because it would read the index from the beginning to compare position and number at once.
fn between<'a>(c: &AnyConnection, after: Place, settled: i64) -> EventQuery<'a> {
    let events = e::load_events.order((e::position, e::n)).into_boxed();
    match c {
        AnyConnection::Sqlite(_) => events.filter(e::position.eq(after.position)).filter(e::n.gt(after.n)),
        AnyConnection::Postgres(_) => {
            let is_after = sql::<Bool>("(load_events.position, load_events.n) > (")
                .bind::<BigInt, _>(after.position)
                .sql(", ")
                .bind::<BigInt, _>(after.n)
                .sql(")");
            events.filter(is_after).filter(e::position.lt(settled))
        }
    }
}

/// The place after which events are read, oldest first, or `None` for the newest ones, newest first; and the position
/// before which all are settled.
type Span = (Option<Place>, i64);

/// Reads the first events of a span, with these columns. `of` limits them to those of a reader.
fn first_of_span<'a, T>(
    c: &mut AnyConnection,
    (after, settled): Span,
    most: usize,
    of: impl Fn(EventQuery<'a>) -> EventQuery<'a>,
    load: impl Fn(&mut AnyConnection, EventQuery<'a>) -> QueryResult<Vec<T>>,
) -> Result<Vec<T>, Error> {
    let mut found = Vec::new();
    let Some(mut after) = after else {
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let newest = e::load_events.order((e::position.desc(), e::n.desc())).filter(e::position.lt(settled));
        return Ok(load(c, of(newest.into_boxed()).limit(limit))?);
    };
    loop {
        let limit = i64::try_from(most - found.len()).unwrap_or(i64::MAX);
        let query = of(between(c, after, settled)).limit(limit);
        found.extend(load(c, query)?);
        let is_last = matches!(c, AnyConnection::Postgres(_)) || after.position >= feed::SQLITE_POSITION;
        if is_last || found.len() >= most {
            return Ok(found);
        }
        after = Place { position: after.position.max(BEFORE_OLDEST) + 1, n: 0 };
    }
}

impl common::feed::FeedSearch for FeedSearch {
    fn page(
        &self,
        c: &mut AnyConnection,
        caller: &Caller,
        after: Place,
        limit: usize,
    ) -> Result<FeedPage, Error> {
        let newest = last_number(c)?;
        after.check(c, newest)?;
        // Read before the events: those below it are all visible then.
        let span = (Some(after), feed::settled_position(c)?);
        let limit = if self.with_loads { limit.min(MAX_WITH_RESOURCES) } else { limit };
        let (rows, next, more) = self.rows(c, span, limit)?;
        let events = events(c, caller, self, rows)?;
        Ok(FeedPage { events, next: next.unwrap_or(after), more })
    }

    fn end(c: &mut AnyConnection) -> Result<Place, Error> {
        end(c)
    }

    fn readers(&self) -> Readers {
        self.reader.readers()
    }
}

impl FeedSearch {
    /// Returns the newest events, newest first: of some types or a driver, those among the last 2,000. The next page
    /// begins after all events.
    pub(crate) fn newest(
        &self,
        c: &mut AnyConnection,
        caller: &Caller,
        most: usize,
    ) -> Result<FeedPage, Error> {
        let next = end(c)?;
        let settled = match c {
            AnyConnection::Sqlite(_) => NO_END,
            AnyConnection::Postgres(_) => next.position,
        };
        let (rows, ..) = self.rows(c, (None, settled), most)?;
        Ok(FeedPage { events: events(c, caller, self, rows)?, next, more: false })
    }

    /// Returns up to `limit` events, the first of a span; where the next page begins; and whether there may be more.
    /// Those of some types, or of a driver, are among the next 2,000.
    fn rows(
        &self,
        c: &mut AnyConnection,
        span: Span,
        limit: usize,
    ) -> Result<(Vec<Row>, Option<Place>, bool), Error> {
        if !self.types.is_empty() || matches!(self.reader, FeedReader::Driver(_)) {
            let (mut places, last, is_complete) = self.some_places(c, span)?;
            let is_cut = places.len() > limit;
            places.truncate(limit);
            let next = if is_cut { places.last().copied() } else { last };
            let mut rows = rows_at(c, &places)?;
            rows.sort_unstable_by_key(place_of_row);
            if span.0.is_none() {
                rows.reverse();
            }
            return Ok((rows, next, is_cut || !is_complete));
        }
        let load = |c: &mut AnyConnection, query: EventQuery<'_>| query.select(ROW).load(c);
        let (mut rows, is_complete) = self.read(c, span, limit + 1, load, |row: &Row| row.0)?;
        rows.truncate(limit);
        let next = rows.last().map(place_of_row);
        Ok((rows, next, !is_complete))
    }

    /// Returns up to `most` rows of the first events of the reader, and whether these are all.
    fn read<T>(
        &self,
        c: &mut AnyConnection,
        span: Span,
        most: usize,
        load: impl Fn(&mut AnyConnection, EventQuery<'_>) -> QueryResult<Vec<T>>,
        place: impl Fn(&T) -> PlaceRow,
    ) -> Result<(Vec<T>, bool), Error> {
        let mut rows = match &self.reader {
            FeedReader::Organisation(None) => return Ok((Vec::new(), true)),
            FeedReader::Admin => first_of_span(c, span, most, |events| events, load)?,
            // Each event has an organisation in one column only.
            FeedReader::Organisation(Some(id)) => {
                let mut rows = Vec::new();
                for column in [of_organiser, of_carrier, of_creator] {
                    rows.extend(first_of_span(c, span, most, |events| column(events, id), &load)?);
                }
                rows.sort_unstable_by_key(&place);
                if span.0.is_none() {
                    rows.reverse();
                }
                rows
            }
            FeedReader::Driver(id) => {
                let names_driver = history::names_driver(c);
                first_of_span(c, span, most, |events| events.filter(is_of_driver(names_driver, id)), load)?
            }
        };
        let is_complete = rows.len() < most;
        rows.truncate(most);
        Ok((rows, is_complete))
    }

    /// Returns the places of the events of some types, or of a driver, among the next ones; the place of the last one
    /// that was looked at, and whether these are all.
    fn some_places(
        &self,
        c: &mut AnyConnection,
        span: Span,
    ) -> Result<(Vec<Place>, Option<Place>, bool), Error> {
        let load = |c: &mut AnyConnection, query: EventQuery<'_>| {
            query.select(((e::position, e::n), e::event_type, e::load_id)).load::<Key>(c)
        };
        let (mut found, is_complete) = self.read(c, span, MAX_PLACES, load, |key| key.0)?;
        let last = found.last().map(|key| place_of(key.0));
        if let FeedReader::Driver(id) = &self.reader {
            let spans = DriverSpans::read(c, id, &found)?;
            found.retain(|key| spans.contain(key));
        }
        if !self.types.is_empty() {
            let types: BTreeSet<&str> = self.types.iter().map(|event_type| event_type.stored()).collect();
            found.retain(|(_, event_type, _)| types.contains(&**event_type));
        }
        Ok((found.iter().map(|key| place_of(key.0)).collect(), last, is_complete))
    }
}

fn of_organiser<'a>(events: EventQuery<'a>, id: &'a str) -> EventQuery<'a> {
    events.filter(e::organiser_id.eq(id))
}

fn of_carrier<'a>(events: EventQuery<'a>, id: &'a str) -> EventQuery<'a> {
    events.filter(e::carrier_id.eq(id))
}

fn of_creator<'a>(events: EventQuery<'a>, id: &'a str) -> EventQuery<'a> {
    events.filter(e::created_by.eq(id))
}

/// A condition with the id of a driver.
type OfDriver<'a> = SqlLiteral<Bool, UncheckedBind<SqlLiteral<Bool>, AsExprOf<&'a str, Text>>>;

/// The condition for events of loads that were ever sent to a driver.
fn is_of_driver<'a>(names_driver: &str, driver: &'a str) -> OfDriver<'a> {
    let of_load =
        format!("load_events.load_id IN (SELECT load_id FROM load_events AS named WHERE {names_driver}");
    sql::<Bool>(&of_load).bind::<Text, _>(driver).sql(")")
}

/// From when to when loads were sent to a driver: the events that name the driver, by load and place.
struct DriverSpans(HashMap<Id, BTreeMap<Place, bool>>);

impl DriverSpans {
    fn read(c: &mut AnyConnection, driver: &str, keys: &[Key]) -> Result<Self, Error> {
        let loads: BTreeSet<Id> = keys.iter().map(|(.., load)| *load).collect();
        let loads: Vec<Id> = loads.into_iter().collect();
        let types: [&'static str; 2] = [EventType::SentToDriver.into(), EventType::DriverRevoked.into()];
        let mut spans: HashMap<Id, BTreeMap<Place, bool>> = HashMap::new();
        for loads in loads.chunks(MAX_PLACES / 2) {
            let named = e::load_events.filter(e::load_id.eq_any(loads)).filter(e::event_type.eq_any(types));
            let rows: Vec<(i64, i64, Id, Option<Json>)> =
                named.select((e::position, e::n, e::load_id, e::changes)).load(c)?;
            for (position, n, load, changes) in rows {
                let place = Place { position, n };
                let changes: ChangedIds = changes.as_ref().map(Json::parse).transpose()?.unwrap_or_default();
                let ChangedId { from, to } = changes.driver_id.unwrap_or_default();
                if to.as_deref() == Some(driver) {
                    spans.entry(load).or_default().insert(place, true);
                } else if from.as_deref() == Some(driver) {
                    spans.entry(load).or_default().insert(place, false);
                }
            }
        }
        Ok(Self(spans))
    }

    /// Returns true for the events from a sending to the revocation, with both. What only the old carrier reads is not
    /// among them.
    fn contain(&self, key: &Key) -> bool {
        let place = place_of(key.0);
        if key.1 == FeedEventType::Released.stored() {
            return false;
        }
        let last = self.0.get(&key.2).and_then(|named| named.range(..=place).next_back());
        last.is_some_and(|(named, is_sent)| *is_sent || *named == place)
    }
}

/// The place of an event, what the history shows of it, and the load, its revision and reference, its organiser and its
/// carrier.
type Row = (PlaceRow, EventRow, (Id, Option<i64>, Option<String>, Option<String>, Option<String>));

type RowColumns = (
    (e::position, e::n),
    EventColumns,
    (e::load_id, e::revision, e::reference, e::organiser_id, e::carrier_id),
);

const ROW: RowColumns = (
    (e::position, e::n),
    EVENT_COLUMNS,
    (e::load_id, e::revision, e::reference, e::organiser_id, e::carrier_id),
);

fn place_of_row(row: &Row) -> Place {
    place_of(row.0)
}

/// Returns the events at places, in no order.
fn rows_at(c: &mut AnyConnection, places: &[Place]) -> Result<Vec<Row>, Error> {
    let numbers: Vec<i64> = places.iter().map(|place| place.n).collect();
    let of_numbers = prepared::has_number(c, "load_events.n", &numbers);
    Ok(e::load_events.filter(of_numbers).select(ROW).load(c)?)
}

fn events(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &FeedSearch,
    rows: Vec<Row>,
) -> Result<FeedEvents, Error> {
    let loads = if search.with_loads {
        // As they are now, those that the caller may read.
        let ids: BTreeSet<Id> = rows.iter().map(|(.., (load, ..))| *load).collect();
        list_by_ids(c, caller, &ids.into_iter().collect::<Vec<_>>())?.into_iter().collect()
    } else {
        HashMap::new()
    };
    let mut events = FeedEvents::default();
    for row in rows {
        if let Some(event_type) = FeedEventType::of_stored(&row.1.2) {
            let place = place_of_row(&row);
            events.push(place, event_type.name(), &event(row, event_type, &search.reader, &loads)?)?;
        }
    }
    Ok(events)
}

/// The carrier and the driver that the changes of an event name.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ChangedIds {
    carrier_id: Option<ChangedId>,
    driver_id: Option<ChangedId>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChangedId {
    from: Option<String>,
    to: Option<String>,
}

fn event(
    (_, row, (load_id, revision, reference, organiser, carrier)): Row,
    event_type: FeedEventType,
    reader: &FeedReader,
    loads: &HashMap<Id, Json>,
) -> Result<FeedLoadEvent, Error> {
    let is_driver = matches!(reader, FeedReader::Driver(_));
    // A carrier does not learn its predecessor.
    let hides_predecessor = match reader {
        FeedReader::Organisation(Some(id)) => carrier.as_ref() == Some(id),
        FeedReader::Driver(_) => true,
        FeedReader::Organisation(None) | FeedReader::Admin => false,
    };
    let ChangedIds { carrier_id, driver_id } =
        row.8.as_ref().map(Json::parse).transpose()?.unwrap_or_default();
    let event = history::event(row, hides_predecessor && carrier_id.is_some())?;
    let named_driver = driver_id.and_then(|driver| driver.to.or(driver.from));
    let driver_id = named_driver.filter(|driver| match reader {
        FeedReader::Driver(own) => own == driver,
        _ => true,
    });
    let sent_to = (event_type == FeedEventType::SentToCarrier)
        .then(|| carrier_id.and_then(|carrier| carrier.to).or(carrier).or(organiser))
        .flatten();
    let is_released = event_type == FeedEventType::Released;
    let by = |name: Option<String>| name.filter(|_| !is_released);
    Ok(FeedLoadEvent {
        id: event.id,
        event_type,
        at: event.at,
        load_id,
        reference,
        revision: revision.unwrap_or(1),
        user_id: by(event.user_id),
        user_name: by(event.user_name),
        organisation_id: by(event.organisation_id),
        reason: event.reason,
        text: event.text,
        changes: event.changes.filter(|_| !is_driver),
        driver_id,
        carrier_id: sent_to,
        load: loads.get(&load_id).map(|load| RawValue::from_string(load.0.clone())).transpose()?,
    })
}

/// A new event with its organiser, its carrier, its creator and its changes.
type NewRow = (Key, (Option<String>, Option<String>, Option<String>, Option<Json>));

/// An event that address books are made from.
pub(crate) struct NewEvent {
    pub(crate) place: Place,
    pub(crate) organiser: Option<String>,
    pub(crate) carrier: Option<String>,
    /// The organisation of the user who caused it.
    pub(crate) sender: Option<String>,
    pub(crate) changes: Option<Json>,
}

/// The organiser, the carrier, and the organisation of the user who caused an event.
type EventParties = (Option<String>, Option<String>, Option<String>);

/// The position after those of all events, also of those that are not settled.
const NO_END: i64 = i64::MAX;

/// Returns the first events after a place, oldest first. Others may still appear between those that are not settled.
pub(crate) fn new_events(c: &mut AnyConnection, after: Place, most: usize) -> Result<Vec<NewEvent>, Error> {
    let rows: Vec<((i64, i64), EventParties, Option<Json>)> = first_of_span(
        c,
        (Some(after), NO_END),
        most,
        |events| events,
        |c, query| {
            let parties = (e::organiser_id, e::carrier_id, e::organisation_id);
            query.select(((e::position, e::n), parties, e::changes)).load(c)
        },
    )?;
    let event = |((position, n), (organiser, carrier, sender), changes)| NewEvent {
        place: Place { position, n },
        organiser,
        carrier,
        sender,
        changes,
    };
    Ok(rows.into_iter().map(event).collect())
}

/// Returns true if there are events after a place; with an organisation, those that it reads as organiser or carrier.
pub(crate) fn has_events_of(
    c: &mut AnyConnection,
    organisation: Option<&str>,
    after: Place,
) -> Result<bool, Error> {
    fn has_any<'a>(
        c: &mut AnyConnection,
        after: Place,
        of: impl Fn(EventQuery<'a>) -> EventQuery<'a>,
    ) -> Result<bool, Error> {
        let found =
            first_of_span(c, (Some(after), NO_END), 1, of, |c, query| query.select(e::n).load::<i64>(c))?;
        Ok(!found.is_empty())
    }
    let Some(id) = organisation else { return has_any(c, after, |events| events) };
    Ok(has_any(c, after, |events| of_organiser(events, id))?
        || has_any(c, after, |events| of_carrier(events, id))?)
}

/// Returns the end of the events after a place, and their readers; `None` if there are none. Without a place, returns
/// the end of the feed, with all readers.
pub(crate) fn find_new(c: &mut AnyConnection, after: Option<Place>) -> Result<Option<NewEvents>, Error> {
    let Some(after) = after else {
        let readers = Readers { all: true, ..Readers::default() };
        return Ok(Some(NewEvents { end: end(c)?, readers }));
    };
    let settled = feed::settled_position(c)?;
    let rows: Vec<NewRow> = first_of_span(
        c,
        (Some(after), settled),
        MAX_NEW,
        |events| events,
        |c, query| {
            let key = ((e::position, e::n), e::event_type, e::load_id);
            query.select((key, (e::organiser_id, e::carrier_id, e::created_by, e::changes))).load(c)
        },
    )?;
    let is_cut = rows.len() >= MAX_NEW;
    let Some((last, _)) = rows.last() else { return Ok(None) };
    let mut readers = Readers { all: is_cut, ..Readers::default() };
    let end = place_of(last.0);
    let loads: BTreeSet<Id> = rows.iter().map(|((.., load), _)| *load).collect();
    let drivers = d::load_drivers.filter(d::load_id.eq_any(loads)).select(d::driver_id);
    readers.users.extend(drivers.load::<String>(c)?);
    for ((_, event_type, _), (organiser, carrier, creator, changes)) in rows {
        readers.organisations.extend([organiser, carrier, creator].into_iter().flatten());
        if event_type == FeedEventType::DriverRevoked.stored() {
            let changes: ChangedIds = changes.as_ref().map(Json::parse).transpose()?.unwrap_or_default();
            readers.users.extend(changes.driver_id.and_then(|driver| driver.from));
        }
    }
    Ok(Some(NewEvents { end, readers }))
}
