//! The queries of the matching: on the events of listings that are not matched yet, on the matches as events of the
//! feed, and on the searches that are matched and their changes.

mod record;

use std::collections::HashSet;
use std::time::Duration;

use common::Error;
use database::feed::{SQLITE_POSITION, first_unsettled_position};
use database::{AnyConnection, Id, Timestamp, shared_now};
use diesel::dsl::max;
use diesel::prelude::*;

use crate::listings::{MAX_LIST_VALUES, Status, current_position, take_event_numbers};
use crate::saved_searches::matching::model::{
    EventRow, ListingToMatch, SavedSearchCursor, SearchChanges, SearchToMatch,
};
use crate::schema::listing_events::dsl as e;
use crate::schema::listings::dsl as l;
use crate::schema::match_events::{self, dsl as m};
use crate::schema::saved_search_changes::dsl as h;
use crate::schema::saved_search_counts::dsl as k;
use crate::schema::saved_search_cursor::dsl as r;
use crate::schema::saved_searches::dsl as s;
use crate::schema::suspended_organisations::dsl as o;
use crate::schema::wishlists::dsl as w;

pub(super) use record::{forget_matches, record, release_lease, request_lease};

/// The most events that are read at once.
const MAX_EVENTS: i64 = 100;

fn cursor(c: &mut AnyConnection) -> Result<SavedSearchCursor, Error> {
    Ok(r::saved_search_cursor.find(1).select(SavedSearchCursor::as_select()).first(c)?)
}

/// Returns the next events, in the order of their positions and numbers, and the cursor after them.
///
/// On PostgreSQL only those of transactions below xmin: all of these have ended, so that no event can appear before one
/// that was returned. An event waits until the transactions that are older than its own have ended.
pub(in crate::saved_searches::matching) fn next_events(
    c: &mut AnyConnection,
) -> Result<(Vec<EventRow>, SavedSearchCursor), Error> {
    let cursor = cursor(c)?;
    let columns = (e::n, e::n, e::listing_id, e::to_status);
    let events: Vec<EventRow> = match c {
        AnyConnection::Sqlite(_) => {
            let events = e::listing_events.filter(e::n.gt(cursor.event)).order(e::n);
            events.limit(MAX_EVENTS).select(columns).load(c)?
        }
        AnyConnection::Postgres(_) => {
            let end = current_position(c)?;
            e::listing_events
                .filter(e::position.ge(cursor.position).and(e::position.lt(end)))
                .filter(e::position.gt(cursor.position).or(e::n.gt(cursor.event)))
                .order((e::position, e::n))
                .limit(MAX_EVENTS)
                .select((e::n, e::position, e::listing_id, e::to_status))
                .load(c)?
        }
    };
    let next =
        events.last().map_or(cursor, |last| SavedSearchCursor { position: last.position, event: last.n });
    Ok((events, next))
}

/// Returns those of the listings that are active and whose organisations are not suspended.
pub(in crate::saved_searches::matching) fn list_active(
    c: &mut AnyConnection,
    ids: &[Id],
) -> Result<Vec<ListingToMatch>, Error> {
    let active = l::listings.filter(l::id.eq_any(ids)).filter(l::status.eq(Status::Active.as_str()));
    let suspended = o::suspended_organisations.select(o::organisation_id);
    let active = active.filter(l::organisation_id.ne_all(suspended));
    let mut listings: Vec<ListingToMatch> =
        active.order(l::id).select(ListingToMatch::as_select()).load(c)?;
    for listing in listings.iter_mut().filter(|listing| listing.columns.is_stale()) {
        listing.columns.refresh_texts(&listing.document.parse()?);
    }
    Ok(listings)
}

/// Returns those of the users who have the listing on their wishlists.
pub(in crate::saved_searches::matching) fn wishing_users(
    c: &mut AnyConnection,
    listing: Id,
    users: &[String],
) -> Result<HashSet<String>, Error> {
    let mut wishing = HashSet::new();
    for users in users.chunks(MAX_LIST_VALUES) {
        let wishes = w::wishlists.filter(w::user_id.eq_any(users)).filter(w::listing_id.eq(listing));
        wishing.extend(wishes.select(w::user_id).load::<String>(c)?);
    }
    Ok(wishing)
}

/// Returns the age of the oldest event that is not matched yet; zero if there is none.
pub(in crate::saved_searches::matching) fn lag(c: &mut AnyConnection) -> Result<Duration, Error> {
    let cursor = cursor(c)?;
    let later = e::listing_events.select(e::at).into_boxed();
    let oldest: Option<Timestamp> = match c {
        AnyConnection::Sqlite(_) => later.filter(e::n.gt(cursor.event)).order(e::n).first(c).optional()?,
        AnyConnection::Postgres(_) => later
            .filter(e::position.ge(cursor.position))
            .filter(e::position.gt(cursor.position).or(e::n.gt(cursor.event)))
            .order((e::position, e::n))
            .first(c)
            .optional()?,
    };
    Ok(match oldest {
        Some(at) => at.until(shared_now(c)?),
        None => Duration::ZERO,
    })
}

/// Time after which matches leave the feed.
const MATCH_RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Matches, or changes of searches, that one transaction deletes.
const PRUNE_BATCH_SIZE: i64 = 1_000;

/// New matches of a listing, of the users of one organisation.
#[derive(Debug, Insertable)]
#[diesel(table_name = match_events)]
pub(super) struct NewMatchEvent {
    pub(super) id: Id,
    pub(super) listing_id: Id,
    /// An empty text: users without an organisation.
    pub(super) organisation_id: String,
    /// The ids of the searches, 16 bytes each.
    pub(super) searches: Vec<u8>,
    pub(super) revision: i64,
    pub(super) at: Timestamp,
}

/// Returns the revision of a listing that is being matched. On PostgreSQL, updates its row: a transaction that changes
/// the listing meanwhile runs again, so that the positions of both follow the revisions.
pub(super) fn lock_revision(c: &mut AnyConnection, listing: Id) -> Result<i64, Error> {
    let row = l::listings.find(listing);
    Ok(match c {
        AnyConnection::Sqlite(c) => row.select(l::revision).first(c)?,
        AnyConnection::Postgres(c) => {
            diesel::update(row).set(l::revision.eq(l::revision)).returning(l::revision).get_result(c)?
        }
    })
}

/// Stores matches as events of the feed (docs/api/events.md).
pub(super) fn store_match_events(c: &mut AnyConnection, events: &[NewMatchEvent]) -> Result<(), Error> {
    match c {
        AnyConnection::Postgres(c) => {
            for events in events.chunks(MAX_LIST_VALUES) {
                diesel::insert_into(match_events::table).values(events).execute(c)?;
            }
        }
        AnyConnection::Sqlite(_) if !events.is_empty() => {
            let first = take_event_numbers(c, events.len())?;
            for (n, event) in (first..).zip(events) {
                let row = (m::n.eq(n), m::position.eq(SQLITE_POSITION), event);
                diesel::insert_into(match_events::table).values(row).execute(c)?;
            }
        }
        AnyConnection::Sqlite(_) => {}
    }
    Ok(())
}

/// Deletes up to 1,000 matches that have left the feed. Returns true if there may be more.
pub(in crate::saved_searches::matching) fn prune_match_events(c: &mut AnyConnection) -> Result<bool, Error> {
    let now = shared_now(c)?;
    let oldest = m::match_events.order(m::n).limit(PRUNE_BATCH_SIZE).select((m::n, m::at));
    let oldest: Vec<(i64, Timestamp)> = oldest.load(c)?;
    let old = oldest.into_iter().filter(|(_, at)| at.until(now) > MATCH_RETENTION);
    let old: Vec<i64> = old.map(|(n, _)| n).collect();
    diesel::delete(m::match_events.filter(m::n.eq_any(&old))).execute(c)?;
    Ok(i64::try_from(old.len()).is_ok_and(|count| count == PRUNE_BATCH_SIZE))
}

/// Searches that one query returns.
const MAX_ROWS: i64 = 1_000;
/// Time after which changes are deleted, once the replica that has the lease has read them.
const CHANGE_RETENTION: Duration = Duration::from_secs(3_600);

/// Returns the position before which no change can appear any more.
pub(in crate::saved_searches::matching) fn changes_position(c: &mut AnyConnection) -> Result<i64, Error> {
    match c {
        AnyConnection::Sqlite(_) => {
            let last: Option<i64> = h::saved_search_changes.select(max(h::n)).get_result(c)?;
            Ok(last.unwrap_or_default() + 1)
        }
        AnyConnection::Postgres(_) => Ok(first_unsettled_position(c)?),
    }
}

/// Returns searches with `notify` in the order of their ids, after an id or from the start.
pub(in crate::saved_searches::matching) fn list_after(
    c: &mut AnyConnection,
    after: Option<Id>,
) -> Result<Vec<SearchToMatch>, Error> {
    let query = s::saved_searches.filter(s::notify).order(s::id).limit(MAX_ROWS);
    let query = query.select(SearchToMatch::as_select()).into_boxed();
    Ok(match after {
        Some(id) => query.filter(s::id.gt(id)).load(c)?,
        None => query.load(c)?,
    })
}

/// Returns the changes after a position. While an older transaction is open, the changes after it are found again.
pub(in crate::saved_searches::matching) fn changes_since(
    c: &mut AnyConnection,
    since: i64,
) -> Result<SearchChanges, Error> {
    // Read before the changes: the next read finds those that are written meanwhile.
    let position = changes_position(c)?;
    let query = h::saved_search_changes.select((h::n, h::search_id)).into_boxed();
    Ok(match c {
        // Numbers only grow, but none is left once all changes are deleted.
        AnyConnection::Sqlite(_) => {
            SearchChanges { position: position.max(since), changes: query.filter(h::n.ge(since)).load(c)? }
        }
        AnyConnection::Postgres(_) => {
            SearchChanges { position, changes: query.filter(h::position.ge(since)).load(c)? }
        }
    })
}

/// Returns those of the searches that have `notify`.
pub(in crate::saved_searches::matching) fn list_by_ids(
    c: &mut AnyConnection,
    ids: &[Id],
) -> Result<Vec<SearchToMatch>, Error> {
    let query = s::saved_searches.filter(s::id.eq_any(ids)).filter(s::notify);
    Ok(query.select(SearchToMatch::as_select()).load(c)?)
}

/// Deletes up to 1,000 changes before a position that are older than an hour, and the counts of the searches that they
/// deleted. Returns true if there may be more.
pub(in crate::saved_searches::matching) fn prune_changes(
    c: &mut AnyConnection,
    before: i64,
) -> Result<bool, Error> {
    let now = shared_now(c)?;
    let oldest = h::saved_search_changes.order(h::n).limit(PRUNE_BATCH_SIZE);
    let oldest = oldest.select((h::n, h::search_id, h::changed_at)).into_boxed();
    let oldest: Vec<(i64, Id, Timestamp)> = match c {
        AnyConnection::Sqlite(_) => oldest.filter(h::n.lt(before)).load(c)?,
        AnyConnection::Postgres(_) => oldest.filter(h::position.lt(before)).load(c)?,
    };
    let is_old = |(_, _, at): &(i64, Id, Timestamp)| at.until(now) > CHANGE_RETENTION;
    let (old, searches): (Vec<i64>, HashSet<Id>) =
        oldest.into_iter().filter(is_old).map(|(n, search, _)| (n, search)).unzip();
    let stored = s::saved_searches.filter(s::id.eq_any(&searches)).select(s::id);
    let stored: HashSet<Id> = stored.load(c)?.into_iter().collect();
    diesel::delete(k::saved_search_counts.filter(k::search_id.eq_any(searches.difference(&stored))))
        .execute(c)?;
    diesel::delete(h::saved_search_changes.filter(h::n.eq_any(&old))).execute(c)?;
    Ok(i64::try_from(old.len()).is_ok_and(|count| count == PRUNE_BATCH_SIZE))
}
