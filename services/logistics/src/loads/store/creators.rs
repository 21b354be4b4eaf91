//! The queries that fill in the creators of loads of older versions.

use common::Error;
use database::{AnyConnection, Id};
use diesel::prelude::*;

use crate::schema::loads::dsl as l;

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
