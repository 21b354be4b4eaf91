//! Writes to wishlists. The search and the facets read them in their own queries.

use common::{Caller, Error, Reason};
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;

use crate::listings;
use crate::schema::wishlists::{self, dsl as w};

/// Listings on the wishlist of one user.
const MAX_WISHED: i64 = 10_000;

/// Adds a listing to the caller's wishlist, unless it is there already.
///
/// # Errors
/// As [`listings::find`]; 409 if the wishlist is full.
pub(crate) fn add(c: &mut AnyConnection, caller: &Caller, listing: Id) -> Result<(), Error> {
    listings::find(c, caller, listing)?;
    let row = (w::user_id.eq(&caller.user_id), w::listing_id.eq(listing), w::added_at.eq(Timestamp::now()));
    let added = database::dispatch!(c, c => diesel::insert_into(wishlists::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c))?;
    let of_caller = w::wishlists.filter(w::user_id.eq(&caller.user_id));
    if added > 0 && of_caller.count().get_result::<i64>(c)? > MAX_WISHED {
        let message = format!("A wishlist has at most {MAX_WISHED} listings.");
        return Err(Error::conflict(Reason::LimitReached, message));
    }
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
