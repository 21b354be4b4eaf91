//! Queries on wishlists; searches and facets look at them too.

use common::Error;
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;

use crate::schema::wishlists::{self, dsl as w};

/// Puts a listing on a user's wishlist, if it is not there.
pub fn add(c: &mut AnyConnection, user_id: &str, listing: Id) -> Result<(), Error> {
    let row = (w::user_id.eq(user_id), w::listing_id.eq(listing), w::added_at.eq(Timestamp::now()));
    database::dispatch!(c, c => diesel::insert_into(wishlists::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c))?;
    Ok(())
}

/// Takes a listing from a user's wishlist, if it is there.
pub fn remove(c: &mut AnyConnection, user_id: &str, listing: Id) -> Result<(), Error> {
    diesel::delete(wishlists::table.find((user_id, listing))).execute(c)?;
    Ok(())
}
