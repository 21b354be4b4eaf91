//! Fills in what older versions did not store of loads.

use std::collections::HashMap;

use common::{Error, backfill};
use database::{AnyConnection, Database, Id, IdSql, Json, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Bool, Text};

use crate::loads::model::Load;
use crate::loads::reference::similarity_key;
use crate::loads::store::row::LoadRow;
use crate::schema::load_events::dsl as e;
use crate::schema::loads::dsl as l;

/// The number of loads that are filled in at once, which takes a fraction of a second.
const BACKFILL_SIZE: usize = 1_000;

/// Returns true if there are loads without a creator: an older version stored them.
fn has_unknown_creators(c: &mut AnyConnection) -> Result<bool, Error> {
    // In the order of the partial index on these loads, so that PostgreSQL uses it regardless of statistics.
    let unknown = l::loads.filter(l::created_by.is_null()).order(l::id).select(l::id);
    Ok(unknown.first::<Id>(c).optional()?.is_some())
}

/// Fills in the creators of up to [`BACKFILL_SIZE`] loads, in column and document: the organiser, or else the
/// carrier. A document that already has a creator keeps it, and the column gets the same one. Returns the number of
/// loads.
fn fill_creators(c: &mut AnyConnection) -> Result<usize, Error> {
    let creator = "COALESCE(organiser_id, carrier_id)";
    let unknown = format!("SELECT id FROM loads WHERE created_by IS NULL ORDER BY id LIMIT {BACKFILL_SIZE}");
    // Appends the member to the text of the document, whose other members keep their form.
    let update = |documented: &str, without_brace: &str, object: &str, json_type: &str, ids: &str| {
        format!(
            "UPDATE loads SET created_by = COALESCE({documented}, {creator}, ''), \
             document = CASE WHEN {documented} IS NOT NULL OR {creator} IS NULL THEN document \
             ELSE CAST({without_brace} || ',\"createdBy\":' || {object} || '}}' AS {json_type}) END \
             WHERE id IN ({ids})"
        )
    };
    let ids = format!("{unknown}{}", c.skip_locked());
    Ok(match c {
        AnyConnection::Sqlite(c) => {
            let documented = "json_extract(document, '$.createdBy.organisationId')";
            let without_brace = "substr(document, 1, length(document) - 1)";
            let object = format!("json_object('organisationId', {creator})");
            diesel::sql_query(update(documented, without_brace, &object, "TEXT", &ids)).execute(c)?
        }
        AnyConnection::Postgres(c) => {
            let documented = "(document #>> '{createdBy,organisationId}')";
            // Citus takes only immutable functions here, which to_json is not.
            let object = format!("json_object(ARRAY['organisationId', {creator}])::text");
            diesel::sql_query(update(documented, "left(document::text, -1)", &object, "JSON", &ids))
                .execute(c)?
        }
    })
}

/// Returns true if there are loads without a similarity key: an older version stored or changed them.
fn has_unknown_similarity(c: &mut AnyConnection) -> Result<bool, Error> {
    // In the order of the partial index on these loads, so that PostgreSQL uses it regardless of statistics.
    let unknown = l::loads.filter(l::similarity_key.is_null()).order(l::id).select(l::id);
    Ok(unknown.first::<Id>(c).optional()?.is_some())
}

/// A load without a similarity key.
#[derive(QueryableByName)]
struct UnknownSimilarity {
    #[diesel(sql_type = IdSql)]
    id: Id,
    #[diesel(sql_type = Text)]
    reference: String,
}

/// Fills in the similarity keys of up to [`BACKFILL_SIZE`] loads, and their commodities, which most of them lack too.
/// Returns the number of loads.
fn fill_similarity_keys(c: &mut AnyConnection) -> Result<usize, Error> {
    let unknown = format!(
        "SELECT id, document ->> 'reference' AS reference FROM loads WHERE similarity_key IS NULL ORDER BY id \
         LIMIT {BACKFILL_SIZE}{}",
        c.skip_locked()
    );
    let loads: Vec<UnknownSimilarity> = diesel::sql_query(unknown).load(c)?;
    let (ids, keys): (Vec<Id>, Vec<String>) =
        loads.iter().map(|load| (load.id, similarity_key(&load.reference))).unzip();
    match c {
        AnyConnection::Sqlite(c) => {
            for (id, key) in ids.iter().zip(keys) {
                let commodity = l::commodity_id.eq(sql(COMMODITY_SQLITE));
                diesel::update(l::loads.find(id)).set((l::similarity_key.eq(key), commodity)).execute(c)?;
            }
        }
        AnyConnection::Postgres(c) => {
            // One statement, of a kind that Citus forwards to each part of the table.
            let update = format!(
                "UPDATE loads SET similarity_key = ($2)[array_position($1, id)], commodity_id = {COMMODITY_POSTGRES} \
                 WHERE id = ANY ($1)"
            );
            diesel::sql_query(update)
                .bind::<Array<IdSql>, _>(&ids)
                .bind::<Array<Text>, _>(keys)
                .execute(c)?;
        }
    }
    Ok(ids.len())
}

const COMMODITY_SQLITE: &str = "json_extract(document, '$.commodity.id')";
const COMMODITY_POSTGRES: &str = "CAST(document #>> '{commodity,id}' AS INTEGER)";

/// Returns true if there are loads without a commodity: an older version stored or changed them.
pub(crate) fn has_unknown_commodities(c: &mut AnyConnection) -> Result<bool, Error> {
    // In the order of the partial index on these loads, so that PostgreSQL uses it regardless of statistics.
    let unknown = l::loads.filter(l::commodity_id.is_null()).order(l::id).select(l::id);
    Ok(unknown.first::<Id>(c).optional()?.is_some())
}

/// Fills in the commodities of up to [`BACKFILL_SIZE`] loads. Returns the number of loads.
fn fill_commodities(c: &mut AnyConnection) -> Result<usize, Error> {
    let commodity = match c {
        AnyConnection::Sqlite(_) => COMMODITY_SQLITE,
        AnyConnection::Postgres(_) => COMMODITY_POSTGRES,
    };
    let update = format!(
        "UPDATE loads SET commodity_id = {commodity} WHERE id IN \
         (SELECT id FROM loads WHERE commodity_id IS NULL ORDER BY id LIMIT {BACKFILL_SIZE}{})",
        c.skip_locked()
    );
    Ok(database::dispatch!(c, c => diesel::sql_query(update).execute(c))?)
}

/// The condition on SQLite for loads that lack either: a trigger keeps the column.
const STALE_ON_SQLITE: &str = "is_stale = 1";

/// The condition for loads whose documents do not show their revision: an older version stored or changed them. That of
/// the partial index on these loads. On SQLite, also for loads whose texts are not folded.
fn lacks_revision(c: &AnyConnection) -> &'static str {
    match c {
        AnyConnection::Sqlite(_) => STALE_ON_SQLITE,
        AnyConnection::Postgres(_) => "(document ->> 'revision') IS DISTINCT FROM CAST(revision AS TEXT)",
    }
}

/// Returns true if there are loads whose documents do not show their revision.
fn has_stale_revisions(c: &mut AnyConnection) -> Result<bool, Error> {
    let stale = l::loads.filter(sql::<Bool>(lacks_revision(c))).order(l::id).select(l::id);
    Ok(stale.first::<Id>(c).optional()?.is_some())
}

/// A load to fill in.
#[derive(QueryableByName)]
#[diesel(table_name = crate::schema::loads)]
struct StoredDocument {
    id: Id,
    revision: i64,
    created_at: Timestamp,
    document: Json,
    batch_id: Option<Id>,
}

/// Events that raise no revision.
const WITHOUT_REVISION: [&str; 4] = ["sent_to_driver", "sent_to_carrier", "released", "noted"];

/// Fills in the revisions of up to [`BACKFILL_SIZE`] documents, with the time of the last change. Returns the number of
/// loads.
fn fill_revisions(c: &mut AnyConnection) -> Result<usize, Error> {
    let stale = format!(
        "SELECT id, revision, created_at, document, batch_id FROM loads WHERE {} ORDER BY id LIMIT {BACKFILL_SIZE}{}",
        lacks_revision(c),
        c.skip_locked()
    );
    let loads: Vec<StoredDocument> = diesel::sql_query(stale).load(c)?;
    let ids: Vec<Id> = loads.iter().map(|load| load.id).collect();
    let changes =
        e::load_events.filter(e::load_id.eq_any(&ids)).filter(e::event_type.ne_all(WITHOUT_REVISION));
    let changes = changes.order(e::n).select((e::load_id, e::at));
    let last_changes: HashMap<Id, Timestamp> = changes.load::<(Id, Timestamp)>(c)?.into_iter().collect();
    for StoredDocument { id, revision, created_at, document, batch_id } in loads {
        let updated_at = last_changes.get(&id).copied().unwrap_or(created_at);
        let document = if document.0.contains("\"revision\":") || batch_id.is_some() {
            // A document that an older version wrote lacks the batch too.
            Json::of(&Load { revision, batch_id, updated_at: Some(updated_at), ..document.parse()? })?
        } else {
            // Appends the members to the text, whose other members keep their form.
            let members = document.0.trim_end().strip_suffix('}').unwrap_or_default();
            Json(format!("{members},\"revision\":{revision},\"updatedAtUTC\":\"{updated_at}\"}}"))
        };
        diesel::update(l::loads.find(id)).set(l::document.eq(document)).execute(c)?;
    }
    Ok(ids.len())
}

/// The condition for loads whose texts are not folded: an older version stored or changed them. That of the partial
/// index on these loads. On SQLite, also for loads whose documents do not show their revision.
fn is_unfolded(c: &AnyConnection) -> &'static str {
    match c {
        AnyConnection::Sqlite(_) => STALE_ON_SQLITE,
        AnyConnection::Postgres(_) => "strpos(reference_key, chr(1)) = 0",
    }
}

/// Returns true if there are loads whose texts are not folded.
fn has_unfolded(c: &mut AnyConnection) -> Result<bool, Error> {
    let unfolded = l::loads.filter(sql::<Bool>(is_unfolded(c))).order(l::id).select(l::id);
    Ok(unfolded.first::<Id>(c).optional()?.is_some())
}

/// Folds the texts of up to [`BACKFILL_SIZE`] loads. Returns the number of loads.
fn fold_texts(c: &mut AnyConnection) -> Result<usize, Error> {
    let unfolded = format!(
        "SELECT id, revision, created_at, document, batch_id FROM loads WHERE {} ORDER BY id LIMIT {BACKFILL_SIZE}{}",
        is_unfolded(c),
        c.skip_locked()
    );
    let loads: Vec<StoredDocument> = diesel::sql_query(unfolded).load(c)?;
    let count = loads.len();
    for StoredDocument { id, document, .. } in loads {
        let texts = LoadRow::with_document(&document.parse()?, document).texts();
        diesel::update(l::loads.find(id)).set(texts).execute(c)?;
    }
    Ok(count)
}

/// A column to fill in: whether there are such loads, and the function that fills in some and returns their number.
type Column = (fn(&mut AnyConnection) -> Result<bool, Error>, fn(&mut AnyConnection) -> Result<usize, Error>);

/// The creator first: loads with a similar reference are found by it.
const COLUMNS: [Column; 5] = [
    (has_unknown_creators, fill_creators),
    (has_unfolded, fold_texts),
    (has_unknown_similarity, fill_similarity_keys),
    (has_unknown_commodities, fill_commodities),
    (has_stale_revisions, fill_revisions),
];

/// Fills in loads for up to two seconds. [`run_backfill`] fills in the rest.
///
/// # Errors
/// If the database fails.
pub(crate) async fn backfill_at_start(db: &Database) -> Result<(), Error> {
    backfill::run_at_start(|| fill_batch(db)).await
}

/// Fills in loads as long as the service runs.
pub(crate) async fn run_backfill(db: &Database) {
    backfill::run("columns of older loads", 1, || fill_batch(db)).await;
}

/// Fills in one batch of each column. Returns true if there may be more.
async fn fill_batch(db: &Database) -> Result<bool, Error> {
    let mut has_more = false;
    for (has_unknown, fill) in COLUMNS {
        has_more |= db.read(has_unknown).await? && db.write(fill).await? == BACKFILL_SIZE;
    }
    Ok(has_more)
}
