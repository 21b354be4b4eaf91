//! The saved searches of a user, for the export and the erasure of personal data.

use common::Error;
use common::personal_data::{DOCUMENT_BATCH_SIZE, Erasure, Record, RecordQuery};
use database::{AnyConnection, Id};
use diesel::prelude::*;
use serde_json::json;

use super::remove;
use crate::saved_searches::model::SavedSearchRow;
use crate::schema::saved_searches::dsl as s;

/// A transaction deletes no further search once it has deleted this number of matches. A search has at most 11,000.
const MAX_DELETED_MATCHES: usize = 1_000;

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
        let organisation = Some(row.organisation_id.clone()).filter(|id| !id.is_empty());
        let record = json!({
            "userId": query.user_id, "organisationId": organisation, "savedSearch": row.saved_search()?,
        });
        Record::new(slot, &record)
    };
    rows.into_iter().map(record).collect()
}

/// Deletes some of the searches that the user saved, with their matches: nobody else could stop their notifications.
/// The replica that matches listings forgets them. Returns their number.
pub(crate) fn erase_user(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let of_user = s::saved_searches.filter(s::user_id.eq(&erasure.user_id)).order(s::slot);
    let ids: Vec<Id> = of_user.limit(DOCUMENT_BATCH_SIZE).select(s::id).load(c)?;
    let (mut searches, mut matches) = (0, 0);
    for id in ids {
        matches += remove(c, id)?;
        searches += 1;
        if matches >= MAX_DELETED_MATCHES {
            break;
        }
    }
    Ok(searches)
}
