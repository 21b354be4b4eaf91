//! The matches as events of the feed (docs/api/events.md).

use std::time::Duration;

use common::Error;
use database::feed::SQLITE_POSITION;
use database::{AnyConnection, Id, Timestamp, shared_now};
use diesel::prelude::*;

use crate::listings::{MAX_LIST_VALUES, take_event_numbers};
use crate::schema::listings::dsl as l;
use crate::schema::match_events::{self, dsl as m};

/// Time after which matches leave the feed.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Matches that one transaction deletes.
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

/// Stores events.
pub(super) fn store(c: &mut AnyConnection, events: &[NewMatchEvent]) -> Result<(), Error> {
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
    let old = oldest.into_iter().filter(|(_, at)| at.until(now) > RETENTION);
    let old: Vec<i64> = old.map(|(n, _)| n).collect();
    diesel::delete(m::match_events.filter(m::n.eq_any(&old))).execute(c)?;
    Ok(i64::try_from(old.len()).is_ok_and(|count| count == PRUNE_BATCH_SIZE))
}
