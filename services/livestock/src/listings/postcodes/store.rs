//! Queries on listings whose postcode is still to be looked up.

use std::time::Duration;

use common::Error;
use database::{AnyConnection, Id, Json, Timestamp, shared_now};
use diesel::prelude::*;

use super::finder::Finding;
use crate::listings::edit::{self, StoredListing};
use crate::listings::events::{Actor, NewEvent, changes};
use crate::listings::model::Listing;
use crate::schema::due_locations::{self, dsl as d};
use crate::schema::listing_events::dsl as e;
use crate::schema::listings::dsl as l;

/// The lease of a look-up, which includes storing its result.
const LEASE: Duration = Duration::from_secs(10);
/// Maximum backoff between look-ups of one postcode.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Records whether the postcode of a listing is still to be looked up, in the transaction that stores its location.
pub(crate) fn set_due(c: &mut AnyConnection, listing: Id, is_due: bool) -> Result<(), Error> {
    diesel::delete(d::due_locations.find(listing)).execute(c)?;
    if is_due {
        let now = shared_now(c)?;
        let row = (d::listing_id.eq(listing), d::due_at.eq(now), d::attempts.eq(0));
        diesel::insert_into(due_locations::table).values(row).execute(c)?;
    }
    Ok(())
}

/// Returns how long until the next look-up is due, zero if one is due now, or `None` if there is none.
pub(super) fn next_due_in(c: &mut AnyConnection) -> Result<Option<Duration>, Error> {
    let next: Option<Timestamp> = d::due_locations.order(d::due_at).select(d::due_at).first(c).optional()?;
    let Some(next) = next else { return Ok(None) };
    Ok(Some(shared_now(c)?.until(next)))
}

/// A listing whose postcode is looked up now.
#[derive(Clone, Debug)]
pub(super) struct DueLocation {
    pub(super) listing: Listing,
    /// The number of look-ups, including the current one.
    pub(super) attempts: i32,
}

/// Claims up to `max` listings, the longest due first. No other replica gets them before the lease ends.
pub(super) fn claim(c: &mut AnyConnection, max: i64) -> Result<Vec<DueLocation>, Error> {
    let now = shared_now(c)?;
    let due = d::due_locations.filter(d::due_at.le(now)).order((d::due_at, d::listing_id)).limit(max);
    let due = due.select((d::listing_id, d::attempts));
    let rows: Vec<(Id, i32)> = match c {
        AnyConnection::Postgres(c) => due.for_update().skip_locked().load(c)?,
        AnyConnection::Sqlite(c) => due.load(c)?,
    };
    let ids: Vec<_> = rows.iter().map(|(id, _)| *id).collect();
    let leased = (d::due_at.eq(now.after(LEASE)), d::attempts.eq(d::attempts + 1));
    diesel::update(d::due_locations.filter(d::listing_id.eq_any(&ids))).set(leased).execute(c)?;
    let documents: Vec<Json> = l::listings.filter(l::id.eq_any(&ids)).select(l::document).load(c)?;
    let mut claimed = Vec::new();
    for document in documents {
        let Ok(listing) = document.parse::<Listing>() else {
            tracing::error!("the document of a listing cannot be parsed; its postcode is not looked up");
            continue;
        };
        let attempts = rows.iter().find(|(id, _)| *id == listing.id).map_or(0, |(_, attempts)| *attempts);
        claimed.push(DueLocation { listing, attempts: attempts.saturating_add(1) });
    }
    Ok(claimed)
}

/// Stores the result of a look-up. Returns true if the listing got coordinates. A listing whose location was changed
/// meanwhile stays due, unless its location needs no look-up any more.
pub(super) fn finish(c: &mut AnyConnection, id: Id, finding: &Finding) -> Result<bool, Error> {
    let found = l::listings.find(id).select((l::document, l::category, l::revision));
    let (document, category, revision): (Json, i32, i64) = found.first(c)?;
    let stored = StoredListing { listing: document.parse()?, category, revision };
    let mut listing = stored.listing.clone();
    let is_due = finding.complete(&mut listing);
    if !is_due {
        diesel::delete(d::due_locations.find(id)).execute(c)?;
    }
    let changes = changes(&stored.listing, &listing);
    if changes.is_empty() {
        return Ok(false);
    }
    let (user_id, user_name, organisation_id) = locator(c, id)?;
    let actor = Actor {
        user_id: &user_id,
        user_name: user_name.as_deref(),
        organisation_id: organisation_id.as_deref(),
    };
    let event = NewEvent { changes, ..NewEvent::new(&listing, Some(listing.status), actor) };
    edit::store::update(c, &stored, &event)?;
    Ok(true)
}

/// Returns the user who created or edited a listing last: id, name and organisation.
fn locator(c: &mut AnyConnection, listing: Id) -> Result<(String, Option<String>, Option<String>), Error> {
    let edits = e::listing_events
        .filter(e::listing_id.eq(listing))
        .filter(e::from_status.is_null().or(e::from_status.eq(e::to_status.nullable())))
        .order(e::n.desc());
    Ok(edits.select((e::user_id, e::user_name, e::organisation_id)).first(c)?)
}

/// Ends the lease of a look-up that failed. The next one is due after a backoff. Does nothing if another look-up has
/// begun since.
pub(super) fn postpone(c: &mut AnyConnection, id: Id, attempts: i32) -> Result<(), Error> {
    let doublings = u32::try_from(attempts.clamp(1, 6)).unwrap_or_default() - 1;
    let backoff = Duration::from_secs(1 << doublings).min(MAX_BACKOFF);
    let due = shared_now(c)?.after(backoff);
    let row = d::due_locations.find(id).filter(d::attempts.eq(attempts));
    diesel::update(row).set(d::due_at.eq(due)).execute(c)?;
    Ok(())
}
