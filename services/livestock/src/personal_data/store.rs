//! The queries on the records that have the id or the name of a user.

use std::collections::BTreeSet;

use common::Error;
use common::personal_data::{
    self, DOCUMENT_BATCH_SIZE, ERASED_NAME, Erasure, Record, RecordQuery, erase_uploader_names,
};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::prelude::*;
use serde_json::{Value, json};

use crate::listings::{Listing, ListingEvent, list_events_of_user};
use crate::reports::Report;
use crate::schema::listing_events::dsl as e;
use crate::schema::listings::dsl as l;
use crate::schema::reports::dsl as r;
use crate::schema::wishlists::dsl as w;

/// Lists listings that the user created. Their keys are the numbers of the events that report their creation.
pub(super) fn list_listings(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let rows: Vec<(i64, Json)> = e::listing_events
        .inner_join(l::listings.on(l::id.eq(e::listing_id)))
        .filter(e::user_id.eq(&query.user_id))
        .filter(e::from_status.is_null())
        .filter(e::n.gt(query.after_number()))
        .order(e::n)
        .limit(query.limit)
        .select((e::n, l::document))
        .load(c)?;
    let record = |(n, document): (i64, Json)| Record::new(n, &document.parse::<Value>()?);
    rows.into_iter().map(record).collect()
}

/// Erases the user who created listings, in up to 100 of them, in the events that report their creation and, later,
/// in the deliveries about them.
pub(super) fn erase_listings(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let created: Vec<(i64, Id)> = e::listing_events
        .filter(e::user_id.eq(&erasure.user_id))
        .filter(e::from_status.is_null())
        .order(e::n)
        .limit(DOCUMENT_BATCH_SIZE)
        .select((e::n, e::listing_id))
        .load(c)?;
    for (number, listing_id) in &created {
        erase_in_listing(c, *listing_id, erasure, &BTreeSet::new())?;
        let event = e::listing_events.find(number);
        let erased = (e::user_id.eq(&erasure.erased_id), e::user_name.eq(ERASED_NAME));
        diesel::update(event).set(erased).execute(c)?;
    }
    Ok(created.len())
}

/// Lists files of listings that the user uploaded.
pub(super) fn list_files(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    personal_data::list_file_references(c, query, "listingId", |c, ids| {
        Ok(l::listings.filter(l::id.eq_any(ids.to_vec())).select((l::id, l::document)).load(c)?)
    })
}

/// Erases the name of the user as the uploader of files of listings and, later, in deliveries about them.
pub(super) fn erase_files(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    personal_data::erase_file_references(c, erasure, |c, id, files| erase_in_listing(c, id, erasure, files))
}

/// Erases the user in the document of a listing, as its creator and as the uploader of these files, and later in
/// deliveries about it.
fn erase_in_listing(
    c: &mut AnyConnection,
    id: Id,
    erasure: &Erasure,
    files: &BTreeSet<String>,
) -> Result<(), Error> {
    let found = l::listings.find(id).select((l::document, l::revision));
    let Some((document, revision)) = found.first::<(Json, i64)>(c).optional()? else { return Ok(()) };
    let mut listing = Listing::parse(&document, revision)?;
    let is_creator = listing.user_id == erasure.user_id;
    if is_creator {
        listing.user_id.clone_from(&erasure.erased_id);
    }
    if erase_uploader_names(&mut listing.files, files) || is_creator {
        listing.revise();
        let changes = (l::document.eq(Json::of(&listing)?), l::revision.eq(listing.revision));
        diesel::update(l::listings.find(id)).set(changes).execute(c)?;
    }
    webhooks::queue_erasure(c, id, erasure, files)
}

/// Lists events that the user caused.
pub(super) fn list_events(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let events = list_events_of_user(c, &query.user_id, query.after_number(), query.limit)?;
    let record = |(n, listing, event): (i64, Id, ListingEvent)| {
        let mut members = serde_json::to_value(&event)?;
        members["listingId"] = json!(listing);
        Record::new(n, &members)
    };
    events.into_iter().map(record).collect()
}

/// Lists the wishlist of the user.
pub(super) fn list_wishlist(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let rows: Vec<(Id, Timestamp)> = w::wishlists
        .filter(w::user_id.eq(&query.user_id))
        .filter(w::listing_id.gt(query.after_id()))
        .order(w::listing_id)
        .limit(query.limit)
        .select((w::listing_id, w::added_at))
        .load(c)?;
    let record = |(id, at): (Id, Timestamp)| {
        Record::new(id, &json!({ "listingId": id, "userId": query.user_id, "addedAtUTC": at }))
    };
    rows.into_iter().map(record).collect()
}

/// Lists reports of the user.
pub(super) fn list_reports(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let rows: Vec<Report> = r::reports
        .filter(r::user_id.eq(&query.user_id))
        .filter(r::id.gt(query.after_id()))
        .order(r::id)
        .limit(query.limit)
        .select(Report::as_select())
        .load(c)?;
    rows.iter().map(|report| Record::new(report.id, report)).collect()
}
