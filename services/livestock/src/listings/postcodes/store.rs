//! Queries on listings whose postcode is still to be looked up.

use std::collections::HashMap;
use std::time::Duration;

use common::Error;
use common::due::backoff;
use database::{AnyConnection, Id, Json, Timestamp, shared_now};
use diesel::prelude::*;

use super::Finding;
use crate::listings::edit::StoredListing;
use crate::listings::events::{Actor, NewEvent};
use crate::listings::members::changes;
use crate::listings::model::Listing;
use crate::listings::store;
use crate::schema::due_locations::{self, dsl as d};
use crate::schema::listing_events::dsl as e;
use crate::schema::listings::dsl as l;

/// The lease of a look-up, which includes storing its result.
const LEASE: Duration = Duration::from_secs(10);

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

/// Claims up to `max` listings, the longest due first. No other replica gets them before the lease ends. Closed
/// listings and those that cannot be parsed are no longer due.
pub(super) fn claim(c: &mut AnyConnection, max: i64) -> Result<Vec<DueLocation>, Error> {
    let now = shared_now(c)?;
    let due = d::due_locations.filter(d::due_at.le(now)).order((d::due_at, d::listing_id)).limit(max);
    let due = due.select((d::listing_id, d::attempts));
    // Citus locks no rows of several servers: of two claims at once, the second fails and runs again.
    let is_distributed = c.is_distributed();
    let rows: Vec<(Id, i32)> = match c {
        AnyConnection::Postgres(c) if !is_distributed => due.for_update().skip_locked().load(c)?,
        AnyConnection::Postgres(c) => due.load(c)?,
        AnyConnection::Sqlite(c) => due.load(c)?,
    };
    let ids: Vec<_> = rows.iter().map(|(id, _)| *id).collect();
    let leased = (d::due_at.eq(now.after(LEASE)), d::attempts.eq(d::attempts + 1));
    diesel::update(d::due_locations.filter(d::listing_id.eq_any(&ids))).set(leased).execute(c)?;
    let documents = l::listings.filter(l::id.eq_any(&ids)).select((l::id, (l::document, l::revision)));
    let documents: HashMap<_, _> = documents.load::<(Id, (Json, i64))>(c)?.into_iter().collect();
    let mut claimed = Vec::new();
    for (id, attempts) in rows {
        match documents.get(&id).and_then(|(document, revision)| parse_open(id, document, *revision)) {
            Some(listing) => claimed.push(DueLocation { listing, attempts: attempts.saturating_add(1) }),
            None => set_due(c, id, false)?,
        }
    }
    Ok(claimed)
}

/// Returns a listing, if it can be parsed and is not closed.
fn parse_open(id: Id, document: &Json, revision: i64) -> Option<Listing> {
    let Ok(listing) = Listing::parse(document, revision) else {
        tracing::error!(listing = %id, "the document of a listing cannot be parsed; it gets no coordinates");
        return None;
    };
    Some(listing).filter(|listing| listing.status.is_open())
}

/// Stores the result of a look-up. Returns true if the listing got coordinates. A listing whose location was changed
/// meanwhile stays due, unless its location needs no look-up any more. One that was closed meanwhile stays as it is.
pub(super) fn finish(c: &mut AnyConnection, id: Id, finding: &Finding) -> Result<bool, Error> {
    let found = l::listings.find(id).select((l::document, l::category, l::revision));
    let (document, category, revision): (Json, i32, i64) = found.first(c)?;
    let Some(listing) = parse_open(id, &document, revision) else {
        set_due(c, id, false)?;
        return Ok(false);
    };
    let stored = StoredListing { listing, category };
    let mut listing = stored.listing.clone();
    if !finding.complete(&mut listing) {
        set_due(c, id, false)?;
    }
    let changes = changes(&stored.listing, &listing);
    if changes.is_empty() {
        return Ok(false);
    }
    listing.revise();
    let (user_id, user_name, organisation_id) = locator(c, id)?;
    let actor = Actor {
        user_id: &user_id,
        user_name: user_name.as_deref(),
        organisation_id: organisation_id.as_deref(),
    };
    let event = NewEvent { changes, ..NewEvent::new(&listing, Some(listing.status), actor) };
    store::update(c, &stored, &event)?;
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
    let due = shared_now(c)?.after(backoff(attempts));
    let row = d::due_locations.find(id).filter(d::attempts.eq(attempts));
    diesel::update(row).set(d::due_at.eq(due)).execute(c)?;
    Ok(())
}
