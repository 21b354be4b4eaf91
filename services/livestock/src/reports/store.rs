//! Queries on reports.

use common::{Caller, Error};
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;

use super::form::ReportForm;
use super::model::Report;
use crate::listings::{self, Listing};
use crate::schema::reports::dsl as r;

/// Reports of one listing that an admin can read.
const MAX_LISTED: i64 = 1_000;

/// Stores a report of a listing.
///
/// # Errors
/// As [`listings::find`]; 409 if the listing belongs to the caller's organisation, or the caller has reported it
/// before.
pub(crate) fn create(c: &mut AnyConnection, caller: &Caller, id: Id, form: &ReportForm) -> Result<(), Error> {
    let listing: Listing = listings::find(c, caller, id)?.parse()?;
    if caller.acts_for(&listing.organisation_id) {
        return Err(Error::conflict("This listing is your own organisation's."));
    }
    let message = form.message.as_deref().filter(|message| !message.is_empty());
    let row = (
        r::id.eq(Id::new()),
        r::listing_id.eq(id),
        r::user_id.eq(&caller.user_id),
        r::reason.eq(form.reason.as_str()),
        r::message.eq(message),
        r::created_at.eq(Timestamp::now()),
    );
    let stored = diesel::insert_into(r::reports).values(row).execute(c);
    stored.map(drop).map_err(|e| match database::Error::from(e) {
        e if e.is_unique_violation("reports") => Error::conflict("You have reported this listing already."),
        e => e.into(),
    })
}

/// Counts the reports of a listing.
pub(crate) fn count(c: &mut AnyConnection, listing: Id) -> Result<i64, Error> {
    Ok(r::reports.filter(r::listing_id.eq(listing)).count().get_result(c)?)
}

/// Returns the newest reports of a listing, newest first.
///
/// # Errors
/// As [`listings::find`].
pub(crate) fn list(c: &mut AnyConnection, caller: &Caller, listing: Id) -> Result<Vec<Report>, Error> {
    type Columns = (Id, String, String, Option<String>, Timestamp);
    listings::find(c, caller, listing)?;
    let rows: Vec<Columns> = r::reports
        .filter(r::listing_id.eq(listing))
        .order((r::created_at.desc(), r::id.desc()))
        .limit(MAX_LISTED)
        .select((r::id, r::user_id, r::reason, r::message, r::created_at))
        .load(c)?;
    let report =
        |(id, user_id, reason, message, created_at)| Report { id, user_id, reason, message, created_at };
    Ok(rows.into_iter().map(report).collect())
}
