//! Every query on reports.

use common::{Caller, Error};
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;

use super::{Form, Report};
use crate::listings::{self, Listing};
use crate::schema::reports::dsl as r;

/// So many are shown.
const MOST_LISTED: i64 = 1000;

/// Stores what a caller says of a listing.
///
/// # Errors
/// 404 if there is none, 403 if it is another organisation's and was never published; 409 if it is the caller's own
/// organisation's, or was reported by the caller before.
pub fn create(c: &mut AnyConnection, caller: &Caller, id: Id, form: &Form) -> Result<(), Error> {
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

/// How many reports there are of a listing.
pub fn count(c: &mut AnyConnection, listing: Id) -> Result<i64, Error> {
    Ok(r::reports.filter(r::listing_id.eq(listing)).count().get_result(c)?)
}

/// The newest reports of a listing, newest first.
pub fn list(c: &mut AnyConnection, listing: Id) -> Result<Vec<Report>, Error> {
    type Row = (Id, String, String, Option<String>, Timestamp);
    let rows: Vec<Row> = r::reports
        .filter(r::listing_id.eq(listing))
        .order((r::created_at.desc(), r::id.desc()))
        .limit(MOST_LISTED)
        .select((r::id, r::user_id, r::reason, r::message, r::created_at))
        .load(c)?;
    let report =
        |(id, user_id, reason, message, created_at)| Report { id, user_id, reason, message, created_at };
    Ok(rows.into_iter().map(report).collect())
}
