//! Every query on loads but the search. What reads begins from [`visible`]; what writes has read before, in the same
//! transaction.

use common::wire::WeightMeasure;
use common::{Caller, Error, JsonResponse};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp};
use diesel::prelude::*;

use super::model::{Creator, Load, Party};
use super::proof::Proof;
use crate::schema::load_drivers::dsl as d;
use crate::schema::loads::{self, dsl as l};

pub(super) type Query<'a> = loads::BoxedQuery<'a, MultiBackend>;

/// In which role a caller's organisation sees a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// All loads, as `admin`; as one who organises or carries them, else.
    Any,
    Organiser,
    /// And not organiser too.
    Carrier,
}

/// The loads that a caller may see: those that its organisation organises or carries, all for `admin`.
pub(super) fn visible(caller: &Caller, role: Role) -> Query<'_> {
    let all = loads::table.into_boxed();
    let org = caller.organisation_id();
    match role {
        Role::Any if caller.admin => all,
        Role::Any => all.filter(l::organiser_id.eq(org).or(l::carrier_id.eq(org))),
        Role::Organiser => all.filter(l::organiser_id.eq(org)),
        Role::Carrier => {
            let not_organiser = l::organiser_id.is_null().or(l::organiser_id.ne(org));
            all.filter(l::carrier_id.eq(org).and(not_organiser))
        }
    }
}

/// The loads that a caller may read by their id: the visible ones, and those that were sent to the caller as driver.
fn readable(caller: &Caller) -> Query<'_> {
    let visible = visible(caller, Role::Any);
    if caller.admin {
        return visible;
    }
    let sent = d::load_drivers.filter(d::load_id.eq(l::id)).filter(d::driver_id.eq(&caller.user_id));
    visible.or_filter(diesel::dsl::exists(sent))
}

/// A row: what is searched or sorted by, and the document.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = loads, treat_none_as_default_value = false, treat_none_as_null = true)]
pub struct Row {
    id: Id,
    organiser_id: Option<String>,
    carrier_id: Option<String>,
    status: &'static str,
    delivery_at: Timestamp,
    created_at: Timestamp,
    completed_at: Option<Timestamp>,
    reference_key: String,
    organiser_key: Option<String>,
    carrier_key: Option<String>,
    commodity_key: String,
    weight: Option<i64>,
    weight_net: Option<i64>,
    search_text: String,
    document: Json,
    /// Empty for an administrator without an organisation.
    #[diesel(skip_update)]
    created_by: String,
    #[diesel(skip_update)]
    awaits_acceptance: Option<bool>,
}

impl Row {
    /// A new load.
    pub fn new(load: &Load, creator: &Creator) -> Result<Self, Error> {
        let row = Self::of(load)?;
        let needs_acceptance =
            creator.needs_acceptance(row.organiser_id.as_deref(), row.carrier_id.as_deref());
        Ok(Self { awaits_acceptance: needs_acceptance.then_some(true), ..row })
    }

    /// A load that was changed.
    pub fn of(load: &Load) -> Result<Self, Error> {
        let name = |party: &Option<Party>| Some(party.as_ref()?.name.to_lowercase());
        let tonnes = |weight: &Option<WeightMeasure>| Some(weight.as_ref()?.weight.scaled());
        Ok(Self {
            id: load.id,
            organiser_id: load.organiser.as_ref().and_then(|p| p.id.clone()),
            carrier_id: load.carrier.as_ref().and_then(|p| p.id.clone()),
            status: load.status.as_str(),
            delivery_at: load.delivery_date,
            created_at: load.created_at,
            completed_at: load.completed_at,
            reference_key: load.reference.to_lowercase(),
            organiser_key: name(&load.organiser),
            carrier_key: name(&load.carrier),
            commodity_key: load.commodity.name.to_lowercase(),
            weight: tonnes(&load.weight),
            weight_net: tonnes(&load.weight_net),
            search_text: load.search_text(),
            document: Json::of(load)?,
            created_by: load.created_by.as_ref().map_or_else(String::new, |by| by.organisation_id.clone()),
            awaits_acceptance: None,
        })
    }
}

/// Stores a new load and gives it out.
pub fn create(c: &mut AnyConnection, load: &Load, creator: &Creator) -> Result<JsonResponse, Error> {
    let row = Row::new(load, creator)?;
    let answer = JsonResponse::raw(row.document.0.clone());
    diesel::insert_into(loads::table).values(row).execute(c)?;
    Ok(answer)
}

/// Stores new loads, so few at a time that SQLite takes all their values in one statement. (Of statements with a row each
/// it would keep copies of ten pages each, since a trigger might fail.)
pub fn create_many(c: &mut AnyConnection, rows: &[Row]) -> Result<(), Error> {
    match c {
        AnyConnection::Sqlite(c) => diesel::insert_into(loads::table).values(rows).execute(c)?,
        AnyConnection::Postgres(c) => diesel::copy_from(loads::table).from_insertable(rows).execute(c)?,
    };
    Ok(())
}

/// The document of a load.
///
/// # Errors
/// 404 if there is none, 403 if it is not the caller's.
pub fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Json, Error> {
    let found = readable(caller).filter(l::id.eq(id)).select(l::document).first(c).optional()?;
    found.map_or_else(|| Err(missing(c, id)), Ok)
}

/// A load with its proof, if it has one, to be changed.
pub fn find_with_proof(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
) -> Result<(Load, Option<Proof>), Error> {
    let query = readable(caller).filter(l::id.eq(id)).select((l::document, l::proof));
    let Some((load, proof)) = query.first::<(Json, Option<Json>)>(c).optional()? else {
        return Err(missing(c, id));
    };
    Ok((load.parse()?, proof.as_ref().map(Json::parse).transpose()?))
}

/// A load that the caller's organisation takes part in, to be sent: not for its driver.
///
/// # Errors
/// 404 if there is none, 403 if it is not the caller's.
pub fn find_own(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Load, Error> {
    let found = visible(caller, Role::Any).filter(l::id.eq(id)).select(l::document);
    found.first::<Json>(c).optional()?.map_or_else(|| Err(missing(c, id)), |load| Ok(load.parse()?))
}

/// Stores the carrier that a load got.
pub fn assign_carrier(c: &mut AnyConnection, load: &Load) -> Result<(), Error> {
    diesel::update(loads::table.find(load.id)).set(Row::of(load)?).execute(c)?;
    Ok(())
}

/// Why a caller does not see a load.
fn missing(c: &mut AnyConnection, id: Id) -> Error {
    match diesel::select(diesel::dsl::exists(loads::table.find(id))).get_result(c) {
        Ok(true) => Error::Forbidden("This load is another organisation's."),
        Ok(false) => Error::NotFound,
        Err(error) => error.into(),
    }
}

/// Those of the ids that the caller may read, with their documents, in no order.
pub fn list_by_ids(c: &mut AnyConnection, caller: &Caller, ids: &[Id]) -> Result<Vec<(Id, Json)>, Error> {
    Ok(readable(caller).filter(l::id.eq_any(ids.to_vec())).select((l::id, l::document)).load(c)?)
}

/// Stores what a proof changed.
pub fn complete(c: &mut AnyConnection, load: &Load, proof: &Proof) -> Result<JsonResponse, Error> {
    let row = Row::of(load)?;
    let answer = JsonResponse::raw(row.document.0.clone());
    diesel::update(loads::table.find(load.id)).set((row, l::proof.eq(Json::of(proof)?))).execute(c)?;
    Ok(answer)
}

/// Accepts a load for its organiser, whose completed export has it from then on. Changes nothing in a load that needs no
/// acceptance.
///
/// # Errors
/// 404 if there is none, 403 if the caller does not act for its organiser.
pub fn accept(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(), Error> {
    let found = readable(caller).filter(l::id.eq(id)).select((l::organiser_id, l::awaits_acceptance));
    let found = found.first::<(Option<String>, Option<bool>)>(c).optional()?;
    let Some((organiser, awaits_acceptance)) = found else { return Err(missing(c, id)) };
    if !organiser.is_some_and(|organiser| caller.acts_for(&organiser)) {
        return Err(Error::Forbidden("Only the organiser of a load accepts it."));
    }
    if awaits_acceptance == Some(true) {
        let accepted = (
            l::awaits_acceptance.eq(None::<bool>),
            l::accepted_at.eq(Timestamp::now()),
            l::accepted_by.eq(&caller.user_id),
        );
        diesel::update(loads::table.find(id)).set(accepted).execute(c)?;
    }
    Ok(())
}

/// Fills in the creators of this many loads at once, which takes a fraction of a second.
pub const CREATOR_BATCH_SIZE: usize = 1_000;

/// True if there are loads whose creator is not known yet: loads from before there were creators.
pub fn has_unknown_creators(c: &mut AnyConnection) -> Result<bool, Error> {
    // In the order of the index of these loads, so that PostgreSQL uses it whatever its statistics say.
    let unknown = l::loads.filter(l::created_by.is_null()).order(l::id).select(l::id);
    Ok(unknown.first::<Id>(c).optional()?.is_some())
}

/// Fills in the creators of some loads, in column and document: the organiser, else the carrier. A document that names a
/// creator already keeps it, and the column gets the same. Returns how many.
pub fn fill_creators(c: &mut AnyConnection) -> Result<usize, Error> {
    let creator = "COALESCE(organiser_id, carrier_id)";
    let unknown =
        format!("SELECT id FROM loads WHERE created_by IS NULL ORDER BY id LIMIT {CREATOR_BATCH_SIZE}");
    // Documents stay as they were written otherwise.
    let update = |named: &str, but_brace: &str, quoted: &str, json: &str, some: &str| {
        format!(
            "UPDATE loads SET created_by = COALESCE({named}, {creator}, ''), \
             document = CASE WHEN {named} IS NOT NULL OR {creator} IS NULL THEN document \
             ELSE CAST({but_brace} || ',\"createdBy\":{{\"organisationId\":' || {quoted} || '}}}}' AS {json}) END \
             WHERE id IN ({some})"
        )
    };
    Ok(match c {
        AnyConnection::Sqlite(c) => {
            let named = "json_extract(document, '$.createdBy.organisationId')";
            let (but_brace, quoted) =
                ("substr(document, 1, length(document) - 1)", format!("json_quote({creator})"));
            diesel::sql_query(update(named, but_brace, &quoted, "TEXT", &unknown)).execute(c)?
        }
        AnyConnection::Postgres(c) => {
            let named = "(document #>> '{createdBy,organisationId}')";
            let (but_brace, quoted) = ("left(document::text, -1)", format!("to_json({creator})::text"));
            let some = format!("{unknown} FOR UPDATE SKIP LOCKED");
            diesel::sql_query(update(named, but_brace, &quoted, "JSON", &some)).execute(c)?
        }
    })
}

/// Remembers that a load was sent to a driver, who may then read it and prove its delivery.
pub fn add_driver(c: &mut AnyConnection, load: Id, driver_id: &str) -> Result<(), Error> {
    let row = (d::load_id.eq(load), d::driver_id.eq(driver_id));
    database::dispatch!(c, c => diesel::insert_into(d::load_drivers).values(row).on_conflict_do_nothing().execute(c))?;
    Ok(())
}
