//! The spellings of breeds and societies in facets.

use common::Error;
use database::AnyConnection;
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};

use crate::listings::model::{Listing, Status};
use crate::schema::spellings::{self, dsl as s};

#[diesel::declare_sql_function]
extern "SQL" {
    /// Inserts the terms that are not there. Returns their number.
    fn insert_spellings(terms: Array<Text>, spellings: Array<Text>) -> Integer;
}

/// Records the terms of a published listing. The first listing with a breed or society determines its spelling in
/// facets. The terms are written in ascending order, so that concurrent transactions cannot deadlock.
pub(in crate::listings) fn record_spellings(c: &mut AnyConnection, listing: &Listing) -> Result<(), Error> {
    if matches!(listing.status, Status::Draft | Status::Cancelled) {
        return Ok(());
    }
    let terms = listing.terms();
    match c {
        // One round trip, and no failure if a concurrent transaction records the same term.
        AnyConnection::Postgres(c) => {
            let (terms, spellings): (Vec<_>, Vec<_>) = terms.into_iter().unzip();
            diesel::select(insert_spellings(terms, spellings)).execute(c)?;
        }
        AnyConnection::Sqlite(c) => {
            for (term, spelling) in terms {
                let values = (s::term.eq(term), s::spelling.eq(spelling));
                diesel::insert_into(spellings::table).values(values).on_conflict_do_nothing().execute(c)?;
            }
        }
    }
    Ok(())
}
