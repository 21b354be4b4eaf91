//! All queries on loads except the search. Reads for a caller start from [`visible`] or [`readable`]. Writes for a
//! caller change only loads that the same transaction has read before.

mod row;

use common::{Caller, Error, JsonResponse};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp};
use diesel::prelude::*;

use super::model::Load;
use super::proof::Proof;
use crate::schema::load_drivers::dsl as d;
use crate::schema::loads::{self, dsl as l};
use row::InsertLoad;
pub(super) use row::LoadRow;

/// A query on loads, which callers limit further.
pub(super) type LoadQuery<'a> = loads::BoxedQuery<'a, MultiBackend>;

/// The role in which the caller's organisation sees a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Organiser or carrier. For an `admin`: all loads.
    Any,
    Organiser,
    /// Carrier, but not organiser as well.
    Carrier,
}

/// Selects the loads that the caller may see in this role.
pub(super) fn visible(caller: &Caller, role: Role) -> LoadQuery<'_> {
    let all = loads::table.into_boxed();
    let org = caller.organisation_id_or_empty();
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

/// Selects the loads that the caller may read by id: the visible ones, and those that were sent to the caller as
/// driver.
fn readable(caller: &Caller) -> LoadQuery<'_> {
    let visible = visible(caller, Role::Any);
    if caller.admin {
        return visible;
    }
    let sent = d::load_drivers.filter(d::load_id.eq(l::id)).filter(d::driver_id.eq(&caller.user_id));
    visible.or_filter(diesel::dsl::exists(sent))
}

/// Inserts a load with one statement and returns it as the response.
pub(crate) fn create(c: &mut AnyConnection, load: &Load) -> Result<JsonResponse, Error> {
    let row = LoadRow::new(load)?;
    match c {
        AnyConnection::Sqlite(c) => InsertLoad(&row).execute(c)?,
        AnyConnection::Postgres(c) => diesel::insert_into(loads::table).values(&row).execute(c)?,
    };
    Ok(JsonResponse::raw(row.document.0))
}

/// Inserts loads.
pub(crate) fn create_many(c: &mut AnyConnection, rows: &[LoadRow]) -> Result<(), Error> {
    match c {
        AnyConnection::Sqlite(c) => rows.iter().try_for_each(|row| InsertLoad(row).execute(c).map(drop))?,
        AnyConnection::Postgres(c) => {
            diesel::copy_from(loads::table).from_insertable(rows).execute(c)?;
        }
    }
    Ok(())
}

/// Returns the document of a load.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller may not read it.
pub(crate) fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Json, Error> {
    let found = readable(caller).filter(l::id.eq(id)).select(l::document).first(c).optional()?;
    found.map_or_else(|| Err(not_visible(c, id)), Ok)
}

/// Returns a load and its proof of delivery, if it has one.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller may not read it.
pub(crate) fn find_with_proof(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
) -> Result<(Load, Option<Proof>), Error> {
    let query = readable(caller).filter(l::id.eq(id)).select((l::document, l::proof));
    let Some((load, proof)) = query.first::<(Json, Option<Json>)>(c).optional()? else {
        return Err(not_visible(c, id));
    };
    Ok((load.parse()?, proof.as_ref().map(Json::parse).transpose()?))
}

/// Returns a load whose organiser or carrier is the caller's organisation; any load for `admin`.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller has no part in it; also for its driver, who may only read it.
pub(crate) fn find_own(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Load, Error> {
    let found = visible(caller, Role::Any).filter(l::id.eq(id)).select(l::document);
    found.first::<Json>(c).optional()?.map_or_else(|| Err(not_visible(c, id)), |load| Ok(load.parse()?))
}

/// Updates a load that got a carrier.
pub(crate) fn assign_carrier(c: &mut AnyConnection, load: &Load) -> Result<(), Error> {
    diesel::update(loads::table.find(load.id)).set(LoadRow::new(load)?).execute(c)?;
    Ok(())
}

/// Returns the error for a load that the caller cannot see.
fn not_visible(c: &mut AnyConnection, id: Id) -> Error {
    let exists = diesel::select(diesel::dsl::exists(loads::table.find(id))).get_result(c);
    let message = "This load belongs to another organisation.";
    exists.map_or_else(Error::from, |exists| Error::forbidden_or_not_found(exists, message))
}

/// Returns the documents of those ids that the caller may read, in any order.
pub(crate) fn list_by_ids(
    c: &mut AnyConnection,
    caller: &Caller,
    ids: &[Id],
) -> Result<Vec<(Id, Json)>, Error> {
    Ok(readable(caller).filter(l::id.eq_any(ids.to_vec())).select((l::id, l::document)).load(c)?)
}

/// Updates a load that was completed by a proof of delivery, and returns it as the response.
pub(crate) fn complete(c: &mut AnyConnection, load: &Load, proof: &Proof) -> Result<JsonResponse, Error> {
    let row = LoadRow::new(load)?;
    let response = JsonResponse::raw(row.document.0.clone());
    diesel::update(loads::table.find(load.id)).set((row, l::proof.eq(Json::of(proof)?))).execute(c)?;
    Ok(response)
}

/// Accepts a load for its organiser, whose completed export contains it from then on. Does nothing if the load needs no
/// acceptance.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller does not act for its organiser.
pub(crate) fn accept(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(), Error> {
    let found = readable(caller).filter(l::id.eq(id)).select((l::organiser_id, l::awaits_acceptance));
    let found = found.first::<(Option<String>, Option<bool>)>(c).optional()?;
    let Some((organiser, awaits_acceptance)) = found else { return Err(not_visible(c, id)) };
    if !organiser.is_some_and(|organiser| caller.acts_for(&organiser)) {
        return Err(Error::Forbidden("Only the organiser of a load can accept it."));
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

/// The number of loads whose creators [`fill_creators`] fills in, which takes a fraction of a second.
pub(crate) const CREATOR_BATCH_SIZE: usize = 1_000;

/// Returns true if there are loads without a creator: an older version stored them.
pub(crate) fn has_unknown_creators(c: &mut AnyConnection) -> Result<bool, Error> {
    // In the order of the partial index on these loads, so that PostgreSQL uses it regardless of statistics.
    let unknown = l::loads.filter(l::created_by.is_null()).order(l::id).select(l::id);
    Ok(unknown.first::<Id>(c).optional()?.is_some())
}

/// Fills in the creators of up to [`CREATOR_BATCH_SIZE`] loads, in column and document: the organiser, or else the
/// carrier. A document that already has a creator keeps it, and the column gets the same one. Returns the number of
/// loads.
pub(crate) fn fill_creators(c: &mut AnyConnection) -> Result<usize, Error> {
    let creator = "COALESCE(organiser_id, carrier_id)";
    let unknown =
        format!("SELECT id FROM loads WHERE created_by IS NULL ORDER BY id LIMIT {CREATOR_BATCH_SIZE}");
    // Appends the member to the text of the document, whose other members keep their form.
    let update = |documented: &str, without_brace: &str, quoted: &str, json_type: &str, ids: &str| {
        format!(
            "UPDATE loads SET created_by = COALESCE({documented}, {creator}, ''), \
             document = CASE WHEN {documented} IS NOT NULL OR {creator} IS NULL THEN document \
             ELSE CAST({without_brace} || ',\"createdBy\":{{\"organisationId\":' || {quoted} || '}}}}' AS {json_type}) END \
             WHERE id IN ({ids})"
        )
    };
    Ok(match c {
        AnyConnection::Sqlite(c) => {
            let documented = "json_extract(document, '$.createdBy.organisationId')";
            let (without_brace, quoted) =
                ("substr(document, 1, length(document) - 1)", format!("json_quote({creator})"));
            diesel::sql_query(update(documented, without_brace, &quoted, "TEXT", &unknown)).execute(c)?
        }
        AnyConnection::Postgres(c) => {
            let documented = "(document #>> '{createdBy,organisationId}')";
            let (without_brace, quoted) = ("left(document::text, -1)", format!("to_json({creator})::text"));
            let ids = format!("{unknown} FOR UPDATE SKIP LOCKED");
            diesel::sql_query(update(documented, without_brace, &quoted, "JSON", &ids)).execute(c)?
        }
    })
}

/// Records that a load was sent to a driver, who may then read it and prove its delivery.
pub(crate) fn add_driver(c: &mut AnyConnection, load: Id, driver_id: &str) -> Result<(), Error> {
    let row = (d::load_id.eq(load), d::driver_id.eq(driver_id));
    database::dispatch!(c, c => diesel::insert_into(d::load_drivers).values(row).on_conflict_do_nothing().execute(c))?;
    Ok(())
}
