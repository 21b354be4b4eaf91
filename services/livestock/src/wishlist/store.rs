//! Writes to wishlists. The search and the facets read them in their own queries.

use common::{Caller, Error};
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;

use crate::listings;
use crate::schema::wishlists::{self, dsl as w};

/// Adds a listing to the caller's wishlist, unless it is there already.
///
/// # Errors
/// As [`listings::find`].
pub(crate) fn add(c: &mut AnyConnection, caller: &Caller, listing: Id) -> Result<(), Error> {
    listings::find(c, caller, listing)?;
    let row = (w::user_id.eq(&caller.user_id), w::listing_id.eq(listing), w::added_at.eq(Timestamp::now()));
    database::dispatch!(c, c => diesel::insert_into(wishlists::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c))?;
    Ok(())
}

/// Removes a listing from the caller's wishlist, if it is there.
///
/// # Errors
/// As [`listings::find`].
pub(crate) fn remove(c: &mut AnyConnection, caller: &Caller, listing: Id) -> Result<(), Error> {
    listings::find(c, caller, listing)?;
    diesel::delete(wishlists::table.find((&caller.user_id, listing))).execute(c)?;
    Ok(())
}
