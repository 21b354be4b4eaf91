//! All queries on loads except the search. Reads for a caller start from [`visible`] or [`readable`]. Writes for a
//! caller change only loads that the same transaction has read before.

mod access;
mod backfill;
mod batches;
mod drivers;
mod existing;
mod fulltext;
mod rate;
mod release;
mod row;
mod staged;
mod update_many;

use std::collections::HashMap;
use std::time::Duration;

use common::{Caller, Error, JsonResponse, Precondition, Reason, WithEtag, system};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::dsl::{AsExprOf, sql};
use diesel::expression::{SqlLiteral, UncheckedBind};
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};

use super::history::{self, Audience, EventType, NewEvent};
use super::model::Load;
use super::party::{CreatedBy, Creator};
use super::proof::{BeforeProof, OriginalProof, Proof};
use super::status::Action;
use super::stored_load::StoredLoad;
use crate::schema::loads::{self, dsl as l};

pub(super) use access::{LoadQuery, Role, exists, sent_before_carrier, sent_to, visible};
use access::{not_visible, readable};
pub(crate) use backfill::{backfill_at_start, has_unknown_commodities, run_backfill};
pub(crate) use batches::{StoredBatch, find_batch, keep_batch, list_batches};
pub(crate) use drivers::{
    Driver, add_driver, count_sending, driver_ids, drivers_of, list_drivers, remove_driver,
};
pub(crate) use existing::{
    CreatedLoad, SimilarLoad, find_by_reference, find_created, find_readable_ids, find_similar,
    newest_of_organisation, newest_of_pair,
};
pub(crate) use fulltext::run_fulltext_indexer;
use rate::Rate;
use release::Revocation;
pub(crate) use release::{carried_since, history_reader, release_carrier};
pub(super) use row::LoadRow;
use row::{Creation, InsertLoad};
use staged::announce_later;
pub(super) use staged::{NotStaged, announce_one};
pub(crate) use staged::{
    announce, begin_import, discard, finish_import, has_unannounced, running_imports, stage,
};
pub(crate) use update_many::{Change, update_many};
use webhooks::{Event, EventDetails, Subject, WithDeliveries};

/// The id of a creator.
type CreatorOf<'a> =
    SqlLiteral<Nullable<Text>, UncheckedBind<SqlLiteral<Nullable<Text>>, AsExprOf<&'a str, Text>>>;

/// The event of a new load.
const CREATED: &str = "load.created";

/// Maximum number of notes on a load.
const MAX_NOTES: i64 = 200;
/// The limit on the notes of a user.
const NOTES: Rate =
    Rate { table: "user_notes", actor: "user_id", maximum: 60, period: Duration::from_secs(3_600) };

/// Inserts a load and the deliveries of its event, on PostgreSQL with one statement unless it has files. Returns the
/// load as the response, and true if there are deliveries.
pub(crate) fn create(
    c: &mut AnyConnection,
    load: &Load,
    creator: &Creator,
) -> Result<(JsonResponse, bool), Error> {
    let row = LoadRow::new(load)?.created_by(creator);
    let creation = row.creation()?;
    let event = Event { name: CREATED, member: "load", subject: creation.subject() };
    let may_have_deliveries = !c.is_distributed() || webhooks::has_webhook(c, &event.subject)?;
    let deliveries = match c {
        AnyConnection::Sqlite(sqlite) => {
            InsertLoad(&row).execute(sqlite)?;
            history::record_created(sqlite, &[load.id])?;
            webhooks::emit(c, event)?
        }
        AnyConnection::Postgres(c) => {
            let insert = diesel::insert_into(loads::table).values(&row);
            if may_have_deliveries {
                WithDeliveries::new(insert, event).execute(c)?
            } else {
                insert.execute(c)?;
                0
            }
        }
    };
    system::record_uploaders(c, load.id, &load.files)?;
    let response = JsonResponse::raw(row.document.0).names_uploaders(load.id, &load.files);
    Ok((response, deliveries > 0))
}

/// Inserts loads, and the deliveries of their events. On SQLite, whose other writes wait meanwhile, only some of them:
/// [`announce`] stores the rest.
pub(crate) fn create_many(c: &mut AnyConnection, rows: &[LoadRow]) -> Result<(), Error> {
    let creations = rows.iter().map(LoadRow::creation).collect::<Result<Vec<_>, Error>>()?;
    let subjects: Vec<_> = creations.iter().map(Creation::subject).collect();
    let mut announced = webhooks::emit_many(c, CREATED, "load", &subjects)?.subjects;
    while announced < rows.len() && matches!(c, AnyConnection::Postgres(_)) {
        announced += webhooks::emit_many(c, CREATED, "load", &subjects[announced..])?.subjects;
    }
    match c {
        AnyConnection::Sqlite(c) => {
            rows.iter().try_for_each(|row| InsertLoad(row).execute(c).map(drop))?;
            let ids: Vec<_> = rows[..announced].iter().map(LoadRow::id).collect();
            history::record_created(c, &ids)?;
            if let Some(next) = rows.get(announced) {
                announce_later(c, Id::new(), next.id())?;
            }
        }
        AnyConnection::Postgres(c) => {
            diesel::copy_from(loads::table).from_insertable(rows).execute(c)?;
        }
    }
    Ok(())
}

/// Returns the document of a load and its revision.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller may not read it.
pub(crate) fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<WithEtag, Error> {
    let query = readable(caller).filter(l::id.eq(id)).select((l::document, l::revision));
    let Some((document, revision)) = query.first::<(Json, i64)>(c).optional()? else {
        return Err(not_visible(c, id));
    };
    Ok(WithEtag { document: document.0, revision })
}

/// Returns a load that the caller may read.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller may not read it.
pub(crate) fn find_stored(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<StoredLoad, Error> {
    let query = readable(caller).filter(l::id.eq(id)).select(STORED_COLUMNS);
    match query.first::<StoredRow>(c).optional()? {
        Some(row) => parse_stored(row),
        None => Err(not_visible(c, id)),
    }
}

/// Returns those loads that the caller may read, by their ids.
pub(crate) fn find_many_stored(
    c: &mut AnyConnection,
    caller: &Caller,
    ids: &[Id],
) -> Result<HashMap<Id, StoredLoad>, Error> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<StoredRow> =
        readable(caller).filter(l::id.eq_any(ids.to_vec())).select(STORED_COLUMNS).load(c)?;
    let stored = rows.into_iter().map(parse_stored);
    stored.map(|stored| stored.map(|stored| (stored.load.id, stored))).collect()
}

/// Returns the next loads that a batch created, in the order of their ids, as far as the caller may read them.
pub(crate) fn find_of_batch(
    c: &mut AnyConnection,
    caller: &Caller,
    batch: Id,
    (after, limit): (Id, i64),
) -> Result<Vec<StoredLoad>, Error> {
    let of_batch = readable(caller).filter(l::batch_id.eq(batch)).filter(l::id.gt(after));
    let rows: Vec<StoredRow> = of_batch.order(l::id).limit(limit).select(STORED_COLUMNS).load(c)?;
    rows.into_iter().map(parse_stored).collect()
}

/// The columns of a [`StoredLoad`].
const STORED_COLUMNS: (ParsedColumns, l::proof, l::corrected_proof) =
    (PARSED_COLUMNS, l::proof, l::corrected_proof);
type StoredRow = (ParsedRow, Option<Json>, Option<Json>);

fn parse_stored((row, proof, corrected): StoredRow) -> Result<StoredLoad, Error> {
    let (load, created_by) = parse(row)?;
    Ok(StoredLoad {
        created_by: created_by.or_else(|| load.creator_id().map(str::to_owned)).filter(|id| !id.is_empty()),
        load,
        proof: proof.as_ref().map(Json::parse).transpose()?,
        before_proof: proof.as_ref().map(Json::parse).transpose()?.unwrap_or_default(),
        corrected_proof: corrected.as_ref().map(Json::parse).transpose()?,
    })
}

/// Returns a load whose collection, delivery or rejection the caller may record.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller is neither of its organiser or carrier nor a driver to whom it was
/// sent, nor an `admin`.
pub(crate) fn find_to_prove(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<StoredLoad, Error> {
    let stored = find_stored(c, caller, id)?;
    if stored.is_of_party(caller) || drivers::is_sent_to(c, id, &caller.user_id)? {
        return Ok(stored);
    }
    Err(Error::Forbidden("Only the organiser, the carrier and a driver of a load can record this."))
}

/// Returns a load whose organiser or carrier is the caller's organisation; any load for `admin`.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller has no part in it; also for its driver, who may only read it.
pub(crate) fn find_own(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Load, Error> {
    let found = visible(caller, Role::Any).filter(l::id.eq(id)).select(PARSED_COLUMNS);
    match found.first::<ParsedRow>(c).optional()? {
        Some(row) => Ok(parse(row)?.0),
        None => Err(not_visible(c, id)),
    }
}

/// Returns a load with what its document does not show, as [`find_own`] does.
///
/// # Errors
/// Those of [`find_own`].
pub(crate) fn find_own_stored(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<StoredLoad, Error> {
    let stored = find_stored(c, caller, id)?;
    if stored.is_of_party(caller) { Ok(stored) } else { Err(not_visible(c, id)) }
}

/// Returns a load as [`find_own`] does, for a change that does not update its row: until the transaction ends, the row
/// does not change.
///
/// # Errors
/// Those of [`find_own`].
pub(crate) fn lock_own(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Load, Error> {
    lock(c, id)?;
    let load = find_own(c, caller, id)?;
    announce_one(c, id)?;
    Ok(load)
}

/// Keeps the row of a load as it is until the transaction ends. SQLite has one writer anyway.
fn lock(c: &mut AnyConnection, id: Id) -> Result<(), Error> {
    if let AnyConnection::Postgres(c) = c {
        // An update, so that a concurrent change of the load runs again. With a lock only, it would not see this one.
        diesel::update(loads::table.find(id)).set(l::revision.eq(l::revision)).execute(c)?;
    }
    Ok(())
}

/// The columns of a load, its creator among them.
const PARSED_COLUMNS: ParsedColumns = (l::document, l::revision, l::created_by, l::batch_id);
type ParsedColumns = (l::document, l::revision, l::created_by, l::batch_id);
type ParsedRow = (Json, i64, Option<String>, Option<Id>);

/// Returns a load, and its creator as it is stored. The load has what an older version did not write into the document
/// and was not filled in yet: its revision, its batch and, before a change replaces the parties, its creator, which is
/// the organiser, or else the carrier.
fn parse((document, revision, created_by, batch_id): ParsedRow) -> Result<(Load, Option<String>), Error> {
    let mut load = Load { revision, batch_id, ..document.parse()? };
    load.updated_at.get_or_insert(load.created_at);
    if created_by.is_none() && load.created_by.is_none() {
        let party = load.parties().first().map(|id| (*id).to_owned());
        load.created_by = party.map(|organisation_id| CreatedBy { organisation_id });
    }
    Ok((load, created_by))
}

/// The creator to store with a change of a load, in case that it was not filled in yet.
fn creator(load: &Load) -> CreatorOf<'_> {
    let known = sql::<Nullable<Text>>("COALESCE(created_by, ");
    known.bind::<Text, _>(load.creator_id().unwrap_or_default()).sql(")")
}

/// Stores the next revision of a load.
pub(crate) fn save(c: &mut AnyConnection, load: &Load) -> Result<(), Error> {
    let columns = (LoadRow::new(load)?, l::created_by.eq(creator(load)), l::revision.eq(load.revision));
    diesel::update(loads::table.find(load.id)).set(columns).execute(c)?;
    Ok(())
}

/// Returns the documents of those ids that the caller may read, in any order.
pub(crate) fn list_by_ids(
    c: &mut AnyConnection,
    caller: &Caller,
    ids: &[Id],
) -> Result<Vec<(Id, Json)>, Error> {
    Ok(readable(caller).filter(l::id.eq_any(ids.to_vec())).select((l::id, l::document)).load(c)?)
}

/// A change of a load.
pub(crate) struct Update<'a> {
    /// The next revision of the load.
    pub load: &'a Load,
    pub event: NewEvent<'a>,
    /// A new proof of delivery: the original one, or a corrected one.
    pub proof: Option<NewProof<'a>>,
}

/// A proof of delivery to store.
pub(crate) enum NewProof<'a> {
    Original {
        proof: &'a Proof,
        /// The load before the proof. A correction keeps its files.
        before: &'a Load,
    },
    /// The original one stays.
    Corrected(&'a Proof),
    /// The load has no proof any more.
    Undone,
}

/// Stores a change of a load and its event. Returns the load as the response.
pub(crate) fn update(c: &mut AnyConnection, update: &Update<'_>) -> Result<JsonResponse, Error> {
    announce_one(c, update.load.id)?;
    let row = LoadRow::new(update.load)?;
    let response = JsonResponse::raw(row.document.0.clone())
        .revision(update.load.revision)
        .names_uploaders(update.load.id, update.load.all_files());
    let columns = (row, l::revision.eq(update.load.revision), l::created_by.eq(creator(update.load)));
    let target = loads::table.find(update.load.id);
    match update.proof {
        None => diesel::update(target).set(columns).execute(c)?,
        Some(NewProof::Original { proof, before }) => {
            let proof = Json::of(&OriginalProof { proof, before: BeforeProof::of(before) })?;
            diesel::update(target).set((columns, l::proof.eq(proof))).execute(c)?
        }
        Some(NewProof::Corrected(proof)) => {
            diesel::update(target).set((columns, l::corrected_proof.eq(Json::of(proof)?))).execute(c)?
        }
        Some(NewProof::Undone) => {
            let none = (l::proof.eq(None::<Json>), l::corrected_proof.eq(None::<Json>));
            diesel::update(target).set((columns, none)).execute(c)?
        }
    };
    system::record_uploaders(c, update.load.id, update.load.all_files())?;
    history::record(c, &update.event)?;
    report(c, &update.event, update.load)?;
    Ok(response)
}

/// Returns the members of `data` that say who caused an event and what it changed.
fn event_details<'a>(change: &'a NewEvent<'_>, load: &'a Load) -> Result<EventDetails<'a>, Error> {
    let (changes, is_sent) = (&change.changes, change.event_type == EventType::SentToCarrier);
    Ok(EventDetails {
        user_id: Some(&change.caller.user_id),
        organisation_id: change.caller.organisation.as_ref().map(|own| own.id.as_str()),
        changes: (!changes.is_empty()).then(|| serde_json::to_value(changes)).transpose()?,
        driver_id: changes.get("driverId").and_then(|change| change.to.as_ref()?.as_str()),
        carrier_id: load.carrier_id().filter(|_| is_sent),
        text: change.text,
    })
}

/// Stores the deliveries of the event that reports a change to the webhooks of the load's organiser and carrier. A new
/// carrier does not learn its predecessor, and so gets an event of its own.
pub(crate) fn report(c: &mut AnyConnection, change: &NewEvent<'_>, load: &Load) -> Result<(), Error> {
    let Some(name) = change.event_type.webhook_event() else { return Ok(()) };
    let (row, caller) = (LoadRow::new(load)?, change.caller);
    let (changes, all) = (&change.changes, event_details(change, load)?);
    let mut emit = |details: &EventDetails<'_>, organisations, reaches_all| {
        let users: Vec<&str> = details.user_id.into_iter().collect();
        let subject = Subject {
            organisations,
            reaches_all,
            cause: caller.organisation_id_or_empty(),
            id: load.id,
            document: &row.document,
            details: &details.members()?,
            users: &users,
        };
        webhooks::emit(c, Event { name, member: "load", subject }).map(drop)
    };
    let [organiser, carrier] = row.organisations();
    if !changes.contains_key("carrierId") || carrier.is_empty() || carrier == organiser {
        return emit(&all, [organiser, carrier], true);
    }
    emit(&all, [organiser, ""], true)?;
    let mut details = all.clone();
    if let Some(changes) = &mut details.changes
        && history::hide_predecessor(changes, details.organisation_id)
    {
        (details.user_id, details.organisation_id) = (None, None);
    }
    emit(&details, [carrier, ""], false)
}

/// Revokes a driver: removes what is pending for the driver, and records and reports the event.
pub(crate) fn revoke_driver(
    c: &mut AnyConnection,
    load: &mut Load,
    driver: &str,
    caller: &Caller,
) -> Result<(), Error> {
    load.revise();
    save(c, load)?;
    let revocation = Revocation { load, driver, caller };
    revocation.record(c, None)?;
    revocation.report(c, &load.parties(), (&Json::of(load)?, true))
}

/// Accepts a load for its organiser, whose completed export contains it from then on. Returns false, and does
/// nothing, if the load needs no acceptance.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller does not act for its organiser, 409 if the load is cancelled or
/// rejected, 412 if the condition names another revision.
pub(crate) fn accept(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    condition: &Precondition,
) -> Result<bool, Error> {
    let mut load = find_stored(c, caller, id)?.load;
    let organiser = load.organiser.as_ref().and_then(|organiser| organiser.id.as_deref());
    if !organiser.is_some_and(|organiser| caller.acts_for(organiser)) {
        return Err(Error::Forbidden("Only the organiser of a load can accept it."));
    }
    Action::Accept.check(load.status)?;
    condition.check(load.revision)?;
    let stored = loads::table.find(id);
    let awaits_acceptance = stored.select(l::awaits_acceptance).first::<Option<bool>>(c)? == Some(true);
    if awaits_acceptance {
        load.revise();
        let accepted = (
            l::awaits_acceptance.eq(None::<bool>),
            l::accepted_at.eq(Timestamp::now()),
            l::accepted_by.eq(&caller.user_id),
            l::revision.eq(load.revision),
        );
        diesel::update(stored).set(accepted).execute(c)?;
        let event = NewEvent::new(id, EventType::Accepted, caller);
        update(c, &Update { load: &load, event, proof: None })?;
    }
    Ok(awaits_acceptance)
}

/// Stores a note on a load, and its event for webhooks. Returns its id.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller is neither a party nor a driver of it, 409 if it has 200 notes, 429
/// if the user wrote 60 notes in the last hour.
pub(crate) fn add_note(c: &mut AnyConnection, caller: &Caller, id: Id, text: &str) -> Result<Id, Error> {
    lock(c, id)?;
    let load = find_to_prove(c, caller, id)?.load;
    announce_one(c, id)?;
    if history::count_notes(c, id)? >= MAX_NOTES {
        return Err(Error::conflict(Reason::LimitReached, "This load has 200 notes, which is the most."));
    }
    NOTES.count(c, &caller.user_id)?;
    let organiser = load.organiser.as_ref().and_then(|organiser| organiser.id.as_deref());
    // A creator that is no party does not read it.
    let audience = Audience {
        revision: load.revision,
        reference: &load.reference,
        organiser,
        carrier: load.carrier_id().filter(|carrier| Some(*carrier) != organiser),
    };
    let event = NewEvent {
        text: Some(text),
        audience: Some(audience),
        ..NewEvent::new(id, EventType::Noted, caller)
    };
    let note = history::record(c, &event)?;
    report(c, &event, &load)?;
    Ok(note)
}
