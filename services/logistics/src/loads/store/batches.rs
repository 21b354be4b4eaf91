//! The batches that stored something (docs/api/batches.md, "Batches").

use common::{Caller, Error, PageRequest, ResultPage};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp};
use diesel::dsl::{exists, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use serde::Serialize;
use utoipa::ToSchema;

use crate::schema::load_batches::{self, dsl as b};

/// The number of batches of an organisation that are kept.
const MAX_BATCHES: i64 = 10_000;

/// A batch that stored something.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LoadBatch)]
pub(crate) struct StoredBatch {
    /// The id of the batch, which the loads that it created show as `batchId`.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: Id,
    /// The names of its files.
    pub(crate) files: Vec<String>,
    /// When the batch was stored.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created_at: Timestamp,
    /// Claim `sub` of the user.
    pub(crate) user_id: String,
    /// The name of the user.
    pub(crate) user_name: String,
    /// The number of loads that it created.
    pub(crate) count: i64,
    /// The number of loads that it changed.
    pub(crate) updated: i64,
}

type BatchQuery<'a> = load_batches::BoxedQuery<'a, MultiBackend>;

/// Selects the batches that the caller may see.
fn visible(caller: &Caller) -> BatchQuery<'_> {
    let all = load_batches::table.into_boxed();
    match &caller.organisation {
        _ if caller.admin => all,
        Some(own) => all.filter(b::organisation_id.eq(&own.id)),
        // Batches of an `admin` without an organisation have the empty text.
        None => all.filter(sql::<Bool>("FALSE")),
    }
}

/// Keeps a batch of the caller. Beyond [`MAX_BATCHES`], the oldest one of the organisation goes.
pub(crate) fn keep_batch(c: &mut AnyConnection, caller: &Caller, batch: &StoredBatch) -> Result<(), Error> {
    let organisation_id = caller.organisation_id_or_empty();
    let row = (
        b::id.eq(batch.id),
        b::organisation_id.eq(organisation_id),
        b::user_id.eq(&batch.user_id),
        b::user_name.eq(&batch.user_name),
        b::files.eq(Json::of(&batch.files)?),
        b::created_at.eq(batch.created_at),
        b::created.eq(batch.count),
        b::updated.eq(batch.updated),
    );
    diesel::insert_into(load_batches::table).values(row).execute(c)?;
    let own = b::load_batches.filter(b::organisation_id.eq(organisation_id));
    let oldest = own.order(b::id.desc()).offset(MAX_BATCHES).select(b::id).first::<Id>(c).optional()?;
    if let Some(oldest) = oldest {
        let old = b::load_batches.filter(b::organisation_id.eq(organisation_id)).filter(b::id.le(oldest));
        diesel::delete(old).execute(c)?;
    }
    Ok(())
}

type BatchRow = (Id, Json, Timestamp, String, String, i64, i64);
const COLUMNS: (b::id, b::files, b::created_at, b::user_id, b::user_name, b::created, b::updated) =
    (b::id, b::files, b::created_at, b::user_id, b::user_name, b::created, b::updated);

fn batch(
    (id, files, created_at, user_id, user_name, count, updated): BatchRow,
) -> Result<StoredBatch, Error> {
    Ok(StoredBatch { id, files: files.parse()?, created_at, user_id, user_name, count, updated })
}

/// Returns a page of the batches of the caller's organisation, newest first, and the number of all if `count` is true.
pub(crate) fn list_batches(
    c: &mut AnyConnection,
    caller: &Caller,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let mut query = visible(caller).select(COLUMNS);
    if let Some((_, last)) = page.position() {
        query = query.filter(b::id.lt(last));
    }
    let rows: Vec<BatchRow> = query.order(b::id.desc()).offset(page.offset).limit(page.fetch()).load(c)?;
    let total = count.then(|| visible(caller).count().get_result(c)).transpose()?;
    let entries = rows.into_iter().map(|row| batch(row).map(|batch| (batch.id, batch)));
    ResultPage::newest_first(entries, page, total)
}

/// Checks that the caller may cancel the loads of a batch.
///
/// # Errors
/// 404 if there is no such batch, 403 if it is that of another organisation.
pub(crate) fn find_batch(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(), Error> {
    if visible(caller).filter(b::id.eq(id)).select(b::id).first::<Id>(c).optional()?.is_some() {
        return Ok(());
    }
    let is_known = diesel::select(exists(load_batches::table.find(id))).get_result(c)?;
    Err(Error::forbidden_or_not_found(is_known, "This batch belongs to another organisation."))
}
