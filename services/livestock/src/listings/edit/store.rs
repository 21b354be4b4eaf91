//! Queries that edit listings.

use common::{Caller, Error, WithEtag, system};
use database::{AnyConnection, Id, Json};
use diesel::prelude::*;

use super::model::StoredListing;
use crate::listings::events::{self, NewEvent};
use crate::listings::model::{Listing, Status};
use crate::listings::store::{ListingRow, not_visible, record_spellings, report, set_price_range, visible};
use crate::schema::listings::{self, dsl as l};
use crate::webhook_events::UPDATED;

/// Returns a listing that the caller can see.
///
/// # Errors
/// 404 if the listing does not exist, 403 if it belongs to another organisation and was never published.
pub(crate) fn find_stored(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<StoredListing, Error> {
    let found = visible(caller).filter(l::id.eq(id)).select((l::document, l::category, l::revision));
    let Some((document, category, revision)) = found.first::<(Json, i32, i64)>(c).optional()? else {
        return Err(not_visible(c, id));
    };
    Ok(StoredListing { listing: Listing::parse(&document, revision)?, category })
}

/// Stores the next revision of a listing and its event. Returns its document and revision.
pub(crate) fn update(
    c: &mut AnyConnection,
    before: &StoredListing,
    event: &NewEvent<'_>,
) -> Result<WithEtag, Error> {
    let (listing, revision) = (event.listing, event.listing.revision);
    let row = ListingRow::of(listing, before.category)?;
    let document = row.document.clone();
    diesel::update(listings::table.find(listing.id)).set((row, l::revision.eq(revision))).execute(c)?;
    set_price_range(c, listing)?;
    system::record_uploaders(c, listing.id, &listing.files)?;
    events::store::record(c, event)?;
    report(c, updated_event(listing), event, &document)?;
    record_spellings(c, listing)?;
    Ok(WithEtag { document: document.0, revision })
}

/// Returns the event that webhooks get after an edit. Editing a draft is none.
fn updated_event(listing: &Listing) -> Option<&'static str> {
    (listing.status == Status::Active).then_some(UPDATED)
}
