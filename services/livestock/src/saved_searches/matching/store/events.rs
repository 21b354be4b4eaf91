//! The events of listings that are not matched yet, and their listings.

use std::collections::HashSet;
use std::time::Duration;

use common::Error;
use database::{AnyConnection, Id, Timestamp, shared_now};
use diesel::prelude::*;

use crate::listings::{MAX_LIST_VALUES, Status, current_position};
use crate::saved_searches::matching::model::{EventRow, ListingToMatch, SavedSearchCursor};
use crate::schema::listing_events::dsl as e;
use crate::schema::listings::dsl as l;
use crate::schema::saved_search_cursor::dsl as r;
use crate::schema::suspended_organisations::dsl as o;
use crate::schema::wishlists::dsl as w;

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
