//! The queries on events.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::{Error, PageRequest, ResultPage, history};
use database::{
    AnyConnection, Id, IdSql, Json, MultiBackend, SERVER_NOW, Timestamp, TimestampSql, shared_now,
};
use diesel::dsl::{exists, max, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use serde_json::Value;

use super::model::{EventType, LoadEvent, NewEvent, NewestNote};
use crate::schema::load_events::{self, dsl as e};
use crate::schema::loads::dsl as l;

/// A row of an event without its time.
#[derive(Insertable)]
#[diesel(table_name = load_events, treat_none_as_default_value = false)]
struct NewRow<'a> {
    id: Id,
    load_id: Id,
    event_type: &'static str,
    user_id: &'a str,
    user_name: &'a str,
    organisation_id: Option<String>,
    reason: Option<String>,
    changes: Option<Json>,
    text: Option<String>,
    // A trigger fills in what follows if it is absent.
    revision: Option<i64>,
    reference: Option<String>,
    organiser_id: Option<String>,
    carrier_id: Option<String>,
}

impl<'a> NewRow<'a> {
    fn of(event: &'a NewEvent<'_>) -> Result<Self, Error> {
        let audience = event.audience;
        Ok(Self {
            id: Id::new(),
            load_id: event.load_id,
            event_type: event.event_type.into(),
            user_id: &event.caller.user_id,
            user_name: &event.caller.user_name,
            organisation_id: event.caller.organisation.as_ref().map(|own| own.id.clone()),
            reason: event.reason.map(str::to_owned),
            changes: (!event.changes.is_empty()).then(|| Json::of(&event.changes)).transpose()?,
            text: event.text.map(str::to_owned),
            revision: audience.map(|audience| audience.revision),
            reference: audience.map(|audience| audience.reference.to_owned()),
            organiser_id: audience.and_then(|audience| audience.organiser).map(str::to_owned),
            carrier_id: audience.and_then(|audience| audience.carrier).map(str::to_owned),
        })
    }
}

/// Records an event, and returns its id. Call it in the transaction of the change.
pub(crate) fn record(c: &mut AnyConnection, event: &NewEvent<'_>) -> Result<Id, Error> {
    let row = NewRow::of(event)?;
    let id = row.id;
    let insert = diesel::insert_into(load_events::table);
    // The clock of notifications, which a new carrier reads from the event on that made it the carrier.
    match c {
        AnyConnection::Postgres(c) => {
            insert.values((row, e::at.eq(sql::<TimestampSql>(SERVER_NOW)))).execute(c)?
        }
        AnyConnection::Sqlite(c) => insert.values((row, e::at.eq(Timestamp::now()))).execute(c)?,
    };
    Ok(id)
}

/// Records events of the changes that one transaction makes.
pub(crate) fn record_many(c: &mut AnyConnection, events: &[&NewEvent<'_>]) -> Result<(), Error> {
    let at = shared_now(c)?;
    let rows: Vec<_> =
        events.iter().map(|event| Ok((NewRow::of(event)?, e::at.eq(at)))).collect::<Result<_, Error>>()?;
    match c {
        AnyConnection::Postgres(c) => {
            diesel::insert_into(load_events::table).values(rows).execute(c)?;
        }
        AnyConnection::Sqlite(c) => {
            for row in rows {
                diesel::insert_into(load_events::table).values(row).execute(c)?;
            }
        }
    }
    Ok(())
}

/// Records the creation of loads for the feed. On PostgreSQL, a trigger does.
pub(crate) fn record_created(c: &mut SqliteConnection, ids: &[Id]) -> Result<(), Error> {
    ids.iter().try_for_each(|id| RecordCreated(id).execute(c).map(drop))?;
    Ok(())
}

/// The statement that records the creation of a load, with one text for all loads, which is prepared once. `OR FAIL`
/// saves as much as for the loads themselves (`InsertLoad` in `store/row.rs`).
struct RecordCreated<'a>(&'a Id);

impl QueryId for RecordCreated<'_> {
    type QueryId = RecordCreated<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<SqliteConnection> for RecordCreated<'_> {}

impl QueryFragment<Sqlite> for RecordCreated<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(
            "INSERT OR FAIL INTO load_events (id, load_id, type, user_id, user_name, organisation_id, at, revision, \
             reference, organiser_id, carrier_id, created_by) \
             SELECT id, id, 'created', creator_id, creator_name, \
             nullif(coalesce(created_by, organiser_id, carrier_id), ''), created_at, revision, \
             document ->> 'reference', organiser_id, CASE WHEN carrier_id IS NOT organiser_id THEN carrier_id END, \
             CASE WHEN created_by NOT IN ('', coalesce(organiser_id, ''), coalesce(carrier_id, '')) \
             THEN created_by END FROM loads WHERE id = ",
        );
        out.push_bind_param::<IdSql, _>(self.0)
    }
}

/// When a load got its carrier, which reads what happened from then on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CarrierSince {
    /// The number of the event.
    n: i64,
    pub at: Timestamp,
}

impl CarrierSince {
    /// Returns true if a load was sent to a driver before, by one of these organisations.
    pub(crate) fn is_after_any(self, senders: &Senders) -> bool {
        senders.values().any(|n| *n < self.n)
    }
}

/// Returns the changes of the last completion of a load, or `None` if they are not recorded.
pub(crate) fn completion_changes(c: &mut AnyConnection, load_id: Id) -> Result<Option<Value>, Error> {
    let completed: &'static str = EventType::Completed.into();
    let of_load = e::load_events.filter(e::load_id.eq(load_id)).filter(e::event_type.eq(completed));
    let last: Option<Option<Json>> = of_load.order(e::n.desc()).select(e::changes).first(c).optional()?;
    Ok(last.flatten().map(|changes| changes.parse()).transpose()?)
}

/// The organisations that sent a load to a driver, each with the number of its first event. `None` is an `admin`
/// without an organisation, or the sender of an older version.
pub(crate) type Senders = BTreeMap<Option<String>, i64>;

/// The condition for events that gave a load another carrier, on both databases.
const CHANGES_CARRIER: &str = "(load_events.changes -> 'carrierId') IS NOT NULL";

/// Returns when the load got its carrier, or `None` if it was created with it.
pub(crate) fn carrier_since(c: &mut AnyConnection, load_id: Id) -> Result<Option<CarrierSince>, Error> {
    let of_load = e::load_events.filter(e::load_id.eq(load_id)).filter(sql::<Bool>(CHANGES_CARRIER));
    // Not `first`, which binds the limit: a plan for all values then expects a tenth of the rows.
    let of_load = of_load.order(sql::<BigInt>("load_events.n DESC LIMIT 1")).select((e::n, e::at));
    let last: Option<(i64, Timestamp)> = of_load.get_result(c).optional()?;
    Ok(last.map(|(n, at)| CarrierSince { n, at }))
}

/// Returns the organisations that sent a load to each of its drivers since the driver was last revoked.
pub(crate) fn senders(c: &mut AnyConnection, load_id: Id) -> Result<BTreeMap<String, Senders>, Error> {
    let types: [&'static str; 2] = [EventType::SentToDriver.into(), EventType::DriverRevoked.into()];
    let of_load = e::load_events.filter(e::load_id.eq(load_id)).filter(e::event_type.eq_any(types));
    let rows: Vec<(i64, Option<String>, Option<Json>)> =
        of_load.order(e::n).select((e::n, e::organisation_id, e::changes)).load(c)?;
    let mut senders: BTreeMap<String, Senders> = BTreeMap::new();
    for (n, organisation, changes) in rows {
        let changes: Value = changes.as_ref().map(Json::parse).transpose()?.unwrap_or_default();
        let driver = &changes["driverId"];
        if let Some(sent) = driver["to"].as_str() {
            senders.entry(sent.to_owned()).or_default().entry(organisation).or_insert(n);
        } else if let Some(revoked) = driver["from"].as_str() {
            senders.remove(revoked);
        }
    }
    Ok(senders)
}

/// Returns the condition for events that gave a load other files, on both databases.
fn changes_files() -> SqlLiteral<Bool> {
    sql("(load_events.changes -> 'files') IS NOT NULL")
}

/// Returns the organisation that last added a file, by load and file: those that were added after the creation. `None`
/// is an `admin` without an organisation.
pub(crate) fn added_files(
    c: &mut AnyConnection,
    loads: &[Id],
) -> Result<BTreeMap<(Id, Id), Option<String>>, Error> {
    let of_loads = e::load_events.filter(e::load_id.eq_any(loads)).filter(changes_files()).order(e::n);
    let rows: Vec<(Id, Option<String>, Option<Json>)> =
        of_loads.select((e::load_id, e::organisation_id, e::changes)).load(c)?;
    let mut added = BTreeMap::new();
    for (load, organisation, changes) in rows {
        let changes: Value = changes.as_ref().map(Json::parse).transpose()?.unwrap_or_default();
        let ids = |files: &Value| -> BTreeSet<Id> {
            let ids = files.as_array().into_iter().flatten().filter_map(|known| known["id"].as_str());
            ids.filter_map(Id::parse).collect()
        };
        let (from, to) = (ids(&changes["files"]["from"]), ids(&changes["files"]["to"]));
        added.extend(to.difference(&from).map(|file| ((load, *file), organisation.clone())));
    }
    Ok(added)
}

/// Columns of an event. The first one is its number.
pub(crate) type EventRow = (
    i64,
    Id,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Timestamp,
    Option<String>,
    Option<Json>,
    Option<String>,
);

/// Returns the condition for events that name a driver, up to the bound driver id: that of their index.
pub(crate) fn names_driver(c: &AnyConnection) -> &'static str {
    match c {
        AnyConnection::Sqlite(_) => {
            "type IN ('sent_to_driver', 'driver_revoked') AND \
             COALESCE(json_extract(changes, '$.driverId.to'), json_extract(changes, '$.driverId.from')) = "
        }
        AnyConnection::Postgres(_) => {
            "type IN ('sent_to_driver', 'driver_revoked') AND \
             COALESCE(changes #>> '{driverId,to}', changes #>> '{driverId,from}') = "
        }
    }
}

pub(crate) type EventColumns = (
    e::n,
    e::id,
    e::event_type,
    e::user_id,
    e::user_name,
    e::organisation_id,
    e::at,
    e::reason,
    e::changes,
    e::text,
);

/// The columns of an [`EventRow`].
pub(crate) const EVENT_COLUMNS: EventColumns = (
    e::n,
    e::id,
    e::event_type,
    e::user_id,
    e::user_name,
    e::organisation_id,
    e::at,
    e::reason,
    e::changes,
    e::text,
);

/// Types of the feed that are not stored for the history: it reads the creation from the row of the load.
const FEED_ONLY: [&str; 2] = ["created", "released"];

/// Who reads the history of a load.
#[derive(Clone, Debug)]
pub(crate) enum HistoryReader {
    /// All of it.
    All,
    /// The carrier: the creation, and what happened from then on, without the previous carrier.
    Carrier(CarrierSince),
    /// A driver or a former party, who reads notes only.
    Notes {
        /// Those of the time when this organisation was a party.
        organisation: Option<String>,
        /// Those from this time on.
        since: Option<Timestamp>,
    },
}

/// Returns true if an organisation is or was a party of a load.
pub(crate) fn was_party(c: &mut AnyConnection, load_id: Id, organisation: &str) -> Result<bool, Error> {
    let is_party = e::organiser_id.eq(organisation).or(e::carrier_id.eq(organisation));
    let as_party = e::load_events.filter(e::load_id.eq(load_id)).filter(is_party);
    Ok(diesel::select(exists(as_party)).get_result(c)?)
}

/// Returns the number of notes on a load.
pub(crate) fn count_notes(c: &mut AnyConnection, load_id: Id) -> Result<i64, Error> {
    let note: &'static str = EventType::Noted.into();
    let of_load = e::load_events.filter(e::load_id.eq(load_id)).filter(e::event_type.eq(note));
    Ok(of_load.count().get_result(c)?)
}

/// Who reads the newest notes of several loads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoteReader<'a> {
    /// An `admin`, who reads all.
    Admin,
    /// This organisation reads those of the time when it was a party.
    Party(&'a str),
    /// This driver reads those since the load was last sent to the driver.
    Driver(&'a str),
}

/// Returns the newest note of each of these loads that the reader reads.
pub(crate) fn newest_notes(
    c: &mut AnyConnection,
    loads: &[Id],
    reader: NoteReader<'_>,
) -> Result<HashMap<Id, NewestNote>, Error> {
    let note: &'static str = EventType::Noted.into();
    let of_loads = || e::load_events.filter(e::load_id.eq_any(loads)).filter(e::event_type.eq(note));
    let newest = of_loads().group_by(e::load_id).select(max(e::n)).into_boxed::<MultiBackend>();
    let newest = match reader {
        NoteReader::Admin => newest,
        NoteReader::Party(id) => newest.filter(e::organiser_id.eq(id).or(e::carrier_id.eq(id))),
        NoteReader::Driver(id) => newest.filter(
            sql::<Bool>(
                "EXISTS (SELECT 1 FROM load_drivers WHERE load_drivers.load_id = load_events.load_id \
                 AND (sent_at IS NULL OR load_events.at >= sent_at) AND driver_id = ",
            )
            .bind::<Text, _>(id)
            .sql(")"),
        ),
    };
    let numbers: Vec<i64> = newest.load::<Option<i64>>(c)?.into_iter().flatten().collect();
    if numbers.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = of_loads().filter(e::n.eq_any(numbers)).select((e::load_id, EVENT_COLUMNS));
    let note = |(load, row): (Id, EventRow)| {
        let (_, id, _, user_id, user_name, organisation_id, at, _, _, text) = row;
        let (user_id, user_name) = (user_id.unwrap_or_default(), user_name.unwrap_or_default());
        (load, NewestNote { id, user_id, user_name, organisation_id, at, text: text.unwrap_or_default() })
    };
    Ok(rows.load(c)?.into_iter().map(note).collect())
}

/// Returns a page of the history of a load, oldest first, and the number of all events if `count` is true; of these
/// types, or of all types if there are none.
///
/// The first events are read from the row of the load: its creation, which is therefore not stored twice, and what an
/// earlier release did without recording an event.
pub(crate) fn list(
    c: &mut AnyConnection,
    load_id: Id,
    reader: &HistoryReader,
    types: &[EventType],
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let since = match reader {
        HistoryReader::Carrier(since) => Some(*since),
        HistoryReader::All | HistoryReader::Notes { .. } => None,
    };
    let types: Vec<&'static str> = types.iter().map(|event_type| (*event_type).into()).collect();
    let mut first = events_of_row(c, load_id)?;
    if let Some(since) = since {
        let mut created = first.remove(0);
        first.retain(|event| event.at >= since.at);
        if !is_created_by_party(c, load_id)? {
            (created.user_id, created.user_name) = (None, None);
        }
        first.insert(0, created);
    }
    first.retain(|event| types.is_empty() || types.contains(&&*event.event_type));
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
    let of_reader = || {
        let of_load = e::load_events.filter(e::load_id.eq(load_id)).into_boxed::<MultiBackend>();
        let of_load = of_load.filter(e::event_type.ne_all(FEED_ONLY));
        let of_types = if types.is_empty() { of_load } else { of_load.filter(e::event_type.eq_any(&types)) };
        match reader {
            HistoryReader::All => of_types,
            HistoryReader::Carrier(since) => of_types.filter(e::n.ge(since.n)),
            HistoryReader::Notes { organisation, since } => {
                let as_party = e::organiser_id.eq(organisation).or(e::carrier_id.eq(organisation));
                of_types.filter(as_party.or(e::at.nullable().ge(since)))
            }
        }
    };
    let stored = of_reader()
        .filter(e::n.gt(last))
        .order(e::n)
        .offset((page.offset - length).max(0))
        .limit((page.fetch() - number(rows.len())).max(0))
        .select(EVENT_COLUMNS);
    for row in stored.load::<EventRow>(c)? {
        let n = row.0;
        rows.push((event(row, since.is_some_and(|since| since.n == n))?, n));
    }
    let mut found = history::page(rows.iter().map(|(event, n)| (*n, event.id, event)), page)?;
    if count {
        let stored: i64 = of_reader().count().get_result(c)?;
        found.total = Some(stored + length);
    }
    Ok(found)
}

/// Returns true if the organiser or the carrier of a load created it.
fn is_created_by_party(c: &mut AnyConnection, load_id: Id) -> Result<bool, Error> {
    let by_party = l::created_by.eq(l::organiser_id).or(l::created_by.eq(l::carrier_id));
    let load = l::loads.filter(l::id.eq(load_id)).filter(by_party);
    Ok(diesel::select(exists(load)).get_result(c)?)
}

/// Returns an event. `hides_predecessor` leaves out what the load was before a change of the carrier, and the previous
/// carrier, also as the one who made the change.
pub(crate) fn event(row: EventRow, hides_predecessor: bool) -> Result<LoadEvent, Error> {
    let (_, id, event_type, mut user_id, mut user_name, mut organisation_id, at, reason, mut changes, text) =
        row;
    if let (true, Some(recorded)) = (hides_predecessor, &changes) {
        let mut recorded: Value = recorded.parse()?;
        if hide_predecessor(&mut recorded, organisation_id.as_deref()) {
            (user_id, user_name, organisation_id) = (None, None, None);
        }
        changes = Some(Json::of(&recorded)?);
    }
    let changes = changes.as_ref().map(Json::parse).transpose()?;
    Ok(LoadEvent { id, event_type, user_id, user_name, organisation_id, at, reason, text, changes })
}

/// Leaves out of the changes of an event that gave a load another carrier what the load was before. Returns true if the
/// organisation, which made the change, is the previous carrier.
pub(crate) fn hide_predecessor(changes: &mut Value, organisation_id: Option<&str>) -> bool {
    let is_predecessor =
        organisation_id.is_some() && changes["carrierId"]["from"].as_str() == organisation_id;
    if let Some(members) = changes.as_object_mut() {
        members.values_mut().filter_map(Value::as_object_mut).for_each(|change| {
            change.retain(|side, _| !side.starts_with("from"));
        });
        members.retain(|_, change| change.as_object().is_some_and(|change| !change.is_empty()));
    }
    is_predecessor
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
        text: None,
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
