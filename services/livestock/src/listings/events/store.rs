//! Queries on the events of listings.

use common::{Caller, Error};
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;

use super::ListingEvent;
use crate::listings;
use crate::schema::listing_events::dsl as e;

/// Returns all events of a listing, oldest first.
///
/// # Errors
/// As [`listings::find`].
pub(crate) fn list(c: &mut AnyConnection, caller: &Caller, listing: Id) -> Result<Vec<ListingEvent>, Error> {
    type Columns = (Option<String>, String, Option<String>, String, Timestamp);
    listings::find(c, caller, listing)?;
    let rows: Vec<Columns> = e::listing_events
        .filter(e::listing_id.eq(listing))
        .order(e::n)
        .select((e::from_status, e::to_status, e::reason, e::user_id, e::at))
        .load(c)?;
    let event = |(from, to, reason, user_id, at)| ListingEvent { from, to, reason, user_id, at };
    Ok(rows.into_iter().map(event).collect())
}
