//! The saved searches of a user, for the export and the erasure of personal data.

use common::Error;
use common::personal_data::{DOCUMENT_BATCH_SIZE, Erasure, Record, RecordQuery};
use database::{AnyConnection, Id};
use diesel::prelude::*;
use serde_json::json;

use super::record_change;
use crate::saved_searches::model::SavedSearchRow;
use crate::schema::saved_searches::dsl as s;

/// Lists the searches that the user saved. Their keys are their slots.
pub(crate) fn list_of_user(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let rows: Vec<(i32, SavedSearchRow)> = s::saved_searches
        .filter(s::user_id.eq(&query.user_id))
        .filter(s::slot.gt(i32::try_from(query.after_number()).unwrap_or_default()))
        .order(s::slot)
        .limit(query.limit)
        .select((s::slot, SavedSearchRow::as_select()))
        .load(c)?;
    let record = |(slot, row): (i32, SavedSearchRow)| {
        Record::new(slot, &json!({ "userId": query.user_id, "savedSearch": row.saved_search()? }))
    };
    rows.into_iter().map(record).collect()
}

/// Erases the user who saved searches. The replica that matches listings reads them again.
pub(crate) fn erase_user(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let of_user = s::saved_searches.filter(s::user_id.eq(&erasure.user_id));
    let ids: Vec<Id> = of_user.limit(DOCUMENT_BATCH_SIZE).select(s::id).load(c)?;
    for id in &ids {
        let erased = (s::user_id.eq(&erasure.erased_id), s::revision.eq(s::revision + 1));
        diesel::update(s::saved_searches.find(id)).set(erased).execute(c)?;
        record_change(c, *id)?;
    }
    Ok(ids.len())
}
