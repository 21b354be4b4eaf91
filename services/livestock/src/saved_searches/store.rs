//! The queries on saved searches, also those for the export and the erasure of personal data. Every row that a caller
//! reads by id is checked with `is_saved_by`.

use std::collections::BTreeSet;

use common::personal_data::{DOCUMENT_BATCH_SIZE, Erasure, Record, RecordQuery};
use common::{Caller, Error, PageRequest, Precondition, Reason, ResultPage, WithEtag};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp, shared_now};
use diesel::dsl::{max, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use serde_json::json;

use crate::saved_searches::model::{NewSavedSearch, SavedSearch, SavedSearchRow, StoredParameters};
use crate::schema::listing_events::dsl as e;
use crate::schema::saved_search_changes::{self, dsl as h};
use crate::schema::saved_search_matches::dsl as m;
use crate::schema::saved_searches::{self, dsl as s};
use crate::webhook_events::MATCHED;

/// The most searches that a user can save.
const MAX_SEARCHES: i32 = 50;
/// A transaction deletes no further search once it has deleted this number of matches. A search has at most 11,000.
const MAX_DELETED_MATCHES: usize = 1_000;

/// Stores a search.
///
/// # Errors
/// 409 if the user has saved 50 searches, or if there is no memory for another one with `notify`.
pub(crate) fn create(c: &mut AnyConnection, new: &NewSavedSearch, budget: i64) -> Result<WithEtag, Error> {
    let of_user = s::saved_searches.filter(s::user_id.eq(&new.user_id)).select(s::slot);
    let used: BTreeSet<i32> = of_user.load::<i32>(c)?.into_iter().collect();
    let Some(slot) = (1..=MAX_SEARCHES).find(|slot| !used.contains(slot)) else {
        let message = format!("You have saved {MAX_SEARCHES} searches, which is the most: delete one first.");
        return Err(Error::conflict(Reason::LimitReached, message));
    };
    let matches_from = next_position(c)?;
    let row = (
        s::id.eq(new.id),
        s::user_id.eq(&new.user_id),
        s::slot.eq(slot),
        s::organisation_id.eq(&new.organisation_id),
        s::name.eq(&new.name),
        s::parameters.eq(Json::of(&new.parameters)?),
        s::near_lat.eq(new.near.map(|point| point.lat)),
        s::near_lon.eq(new.near.map(|point| point.lon)),
        s::notify.eq(new.notify),
        s::version.eq(1),
        s::revision.eq(1),
        s::matches_from.eq(matches_from),
        s::matched.eq(0),
        s::seen.eq(0),
        s::created_at.eq(Timestamp::now()),
    );
    // Of two concurrent inserts into a slot, PostgreSQL makes the second wait for the first and run again: it then
    // finds that slot used.
    let stored = database::dispatch!(c, c => diesel::insert_into(s::saved_searches)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c))?;
    if stored == 0 {
        return Err(Error::Internal(anyhow::anyhow!("a free slot of a saved search was used")));
    }
    if new.notify {
        check_budget(c, budget)?;
    }
    record_change(c, new.id)?;
    let row: SavedSearchRow = s::saved_searches.find(new.id).select(SavedSearchRow::as_select()).first(c)?;
    revised(c, row)
}

/// Checks that the searches with `notify`, as they are stored now, fit into the memory of the replica that matches.
/// Searches that are saved at the same time may exceed the budget together, by their own sizes.
///
/// # Errors
/// 409 otherwise.
fn check_budget(c: &mut AnyConnection, budget: i64) -> Result<(), Error> {
    // An index has the sizes of these searches.
    let used = sql::<Nullable<BigInt>>("CAST(sum(index_bytes) AS BIGINT)");
    let used: Option<i64> = s::saved_searches.filter(s::notify).select(used).get_result(c)?;
    if used.unwrap_or_default() > budget {
        let message = "There is no room for another saved search with notify: save it without.";
        return Err(Error::conflict(Reason::LimitReached, message));
    }
    Ok(())
}

/// Returns the position that events of listings have if they are not older than this transaction.
fn next_position(c: &mut AnyConnection) -> Result<i64, Error> {
    Ok(match c {
        AnyConnection::Sqlite(_) => {
            let last: Option<i64> = e::listing_events.select(max(e::n)).get_result(c)?;
            last.unwrap_or_default() + 1
        }
        AnyConnection::Postgres(_) => diesel::select(sql::<BigInt>("next_feed_position()")).get_result(c)?,
    })
}

/// Records that a search was saved, changed or deleted, for the replica that matches listings.
fn record_change(c: &mut AnyConnection, id: Id) -> Result<(), Error> {
    let row = (h::search_id.eq(id), h::changed_at.eq(shared_now(c)?));
    diesel::insert_into(saved_search_changes::table).values(row).execute(c)?;
    Ok(())
}

fn revised(c: &mut AnyConnection, row: SavedSearchRow) -> Result<WithEtag, Error> {
    let search = row.saved_search(is_reported_to_all(c)?)?;
    Ok(WithEtag { document: Json::of(&search)?.0, revision: search.revision })
}

/// Returns true if a webhook gets the matches of all users.
fn is_reported_to_all(c: &mut AnyConnection) -> Result<bool, Error> {
    webhooks::has_webhook_of_all(c, MATCHED)
}

/// Returns true if there is a saved search with this id.
pub(crate) fn is_stored(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    Ok(diesel::select(diesel::dsl::exists(s::saved_searches.find(id))).get_result(c)?)
}

/// Returns a saved search of the caller.
///
/// # Errors
/// 404 if there is no such search, 403 if another user saved it.
fn find_row(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<SavedSearchRow, Error> {
    let row = s::saved_searches.find(id).select(SavedSearchRow::as_select());
    let row: SavedSearchRow = row.first(c).optional()?.ok_or(Error::NotFound)?;
    if row.is_saved_by(caller) { Ok(row) } else { Err(Error::Forbidden("Another user saved this search.")) }
}

/// Returns the document of a saved search and its revision.
///
/// # Errors
/// 404 if there is no such search, 403 if another user saved it.
pub(crate) fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<WithEtag, Error> {
    let row = find_row(c, caller, id)?;
    revised(c, row)
}

/// Returns the parameters of a saved search, to read its listings.
///
/// # Errors
/// 404 if there is no such search, 403 if another user saved it.
pub(crate) fn parameters(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<StoredParameters, Error> {
    let row = find_row(c, caller, id)?;
    let has_new = row.seen < row.matched;
    let near = row.near();
    Ok(StoredParameters { parameters: row.parameters.parse()?, near, matched: row.matched, has_new })
}

/// Records that the listings of a search were read when this number of listings had matched.
pub(crate) fn mark_read(c: &mut AnyConnection, id: Id, matched: i64) -> Result<(), Error> {
    let unread = s::saved_searches.find(id).filter(s::seen.lt(matched));
    let changes = (s::seen.eq(matched), s::revision.eq(s::revision + 1), s::updated_at.eq(Timestamp::now()));
    diesel::update(unread).set(changes).execute(c)?;
    Ok(())
}

/// Returns a page of the caller's saved searches, newest first, and the number of all if `count` is true.
pub(crate) fn list(
    c: &mut AnyConnection,
    caller: &Caller,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let own = || {
        let own: saved_searches::BoxedQuery<'_, MultiBackend> =
            s::saved_searches.filter(s::user_id.eq(&caller.user_id)).into_boxed();
        own
    };
    let mut query = own();
    if let Some((_, last)) = page.position() {
        query = query.filter(s::id.lt(last));
    }
    let query = query.order(s::id.desc()).offset(page.offset).limit(page.fetch());
    let rows: Vec<SavedSearchRow> = query.select(SavedSearchRow::as_select()).load(c)?;
    let total = count.then(|| own().count().get_result(c)).transpose()?;
    let to_all = is_reported_to_all(c)?;
    ResultPage::newest_first(rows.into_iter().map(|row| Ok((row.id, row.saved_search(to_all)?))), page, total)
}

/// Changes a saved search. `change` gets the present one and returns the one to store. Returns its document and
/// revision.
///
/// # Errors
/// 404 if there is no such search, 403 if another user saved it, 412 if the condition names another revision, 409 if
/// there is no memory for a larger search with `notify`, and the errors of `change`.
pub(crate) fn update(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    condition: &Precondition,
    budget: i64,
    change: impl FnOnce(&SavedSearch) -> Result<SavedSearch, Error>,
) -> Result<WithEtag, Error> {
    let row = find_row(c, caller, id)?;
    let to_all = is_reported_to_all(c)?;
    let (version, has_receivers) = (row.version, row.has_receivers(to_all));
    let before = row.saved_search(to_all)?;
    let mut after = change(&before)?;
    condition.check(before.revision)?;
    after.set_warnings(has_receivers);
    if after == before {
        return Ok(WithEtag { document: Json::of(&after)?.0, revision: after.revision });
    }
    (after.revision, after.updated_at) = (before.revision + 1, Timestamp::now());
    let is_matched_anew =
        (&after.parameters, after.near, after.notify) != (&before.parameters, before.near, before.notify);
    // Listings that were published while `notify` was off are not reported.
    let matches_from =
        if after.notify && !before.notify { Some(s::matches_from.eq(next_position(c)?)) } else { None };
    let changes = (
        s::name.eq(&after.name),
        s::parameters.eq(Json::of(&after.parameters)?),
        s::near_lat.eq(after.near.map(|point| point.lat)),
        s::near_lon.eq(after.near.map(|point| point.lon)),
        s::notify.eq(after.notify),
        s::version.eq(version + i64::from(is_matched_anew)),
        s::revision.eq(s::revision + 1),
        s::updated_at.eq(after.updated_at),
        matches_from,
    );
    let size = || s::saved_searches.find(id).select(s::index_bytes);
    let size_before: i64 = size().first(c)?;
    diesel::update(s::saved_searches.find(id)).set(changes).execute(c)?;
    if is_matched_anew {
        let grows = !before.notify || size().first::<i64>(c)? > size_before;
        if after.notify && grows {
            check_budget(c, budget)?;
        }
        record_change(c, id)?;
    }
    Ok(WithEtag { document: Json::of(&after)?.0, revision: after.revision })
}

/// Deletes a saved search.
///
/// # Errors
/// 404 if there is no such search, 403 if another user saved it, 412 if the condition names another revision.
pub(crate) fn delete(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    condition: &Precondition,
) -> Result<(), Error> {
    condition.check(find_row(c, caller, id)?.revision)?;
    remove(c, id)?;
    Ok(())
}

/// Removes a saved search with the matches of releases before 1.2. Returns their number. The count of its matches is
/// deleted with this change, since a transaction that stores matches may still write it.
fn remove(c: &mut AnyConnection, id: Id) -> Result<usize, Error> {
    diesel::delete(s::saved_searches.find(id)).execute(c)?;
    let matches = diesel::delete(m::saved_search_matches.filter(m::search_id.eq(id))).execute(c)?;
    record_change(c, id)?;
    Ok(matches)
}

/// Lists the searches that the user saved. Their keys are their slots.
pub(crate) fn list_of_user(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let rows: Vec<(i32, SavedSearchRow)> = s::saved_searches
        .filter(s::user_id.eq(&query.user_id))
        .filter(s::slot.gt(i32::try_from(query.after_number()).unwrap_or_default()))
        .order(s::slot)
        .limit(query.limit)
        .select((s::slot, SavedSearchRow::as_select()))
        .load(c)?;
    let to_all = is_reported_to_all(c)?;
    let record = |(slot, row): (i32, SavedSearchRow)| {
        let organisation = Some(row.organisation_id.clone()).filter(|id| !id.is_empty());
        let record = json!({
            "userId": query.user_id, "organisationId": organisation, "savedSearch": row.saved_search(to_all)?,
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
