//! Queries that fill and update the index.

use std::collections::{BTreeSet, HashSet};

use common::{Caller, Error};
use database::search::words;
use database::{AnyConnection, Id, Json};
use diesel::prelude::*;

use super::model::{EventCursor, FacetColumns, ListingChanges, Spelling};
use crate::listings::events::store::{current_position, list_since};
use crate::listings::model::{Listing, Status, TYPE_TERM_PREFIX};
use crate::listings::search::Audience;
use crate::listings::search::store::with_words;
use crate::schema::listings::dsl as l;
use crate::schema::spellings::dsl as s;
use crate::schema::wishlists::dsl as w;

/// Rows that one query returns. Each may have 40 kB of types and 60 kB of text.
const MAX_ROWS: i64 = 1_000;
/// Documents that one query returns.
const MAX_DOCUMENTS: usize = 200;
/// Values in one `IN` list. Both databases accept as many in a statement.
pub(crate) const MAX_LIST_VALUES: usize = 1_000;

/// Returns the next cursor, and the ids of the listings of the events in between.
///
/// While an older transaction is open, the events after it are found by every read. Stale listings are read again too,
/// because rebuilding a row writes no event.
pub(crate) fn changes_since(
    c: &mut AnyConnection,
    cursor: &EventCursor,
) -> Result<(EventCursor, Vec<Id>), Error> {
    // Read before the events: the next read finds the events that are written meanwhile.
    let position = current_position(c)?;
    let events = list_since(c, cursor.position)?;
    let new = events.iter().filter(|(n, _)| !cursor.seen.contains(n)).map(|(_, id)| *id);
    let listings: BTreeSet<Id> = new.chain(cursor.stale.iter().copied()).collect();
    let seen = events.into_iter().map(|(n, _)| n).collect();
    let next = EventCursor { position, seen, stale: cursor.stale.clone() };
    Ok((next, listings.into_iter().collect()))
}

/// Returns up to 1,000 listings by their ids, with the spellings of their terms.
pub(crate) fn listings(c: &mut AnyConnection, ids: &[Id]) -> Result<ListingChanges, Error> {
    let rows: Vec<_> = l::listings.filter(l::id.eq_any(ids)).select(FacetColumns::as_select()).load(c)?;
    let terms = |row: &FacetColumns| [row.breed.clone(), row.breed_type.clone(), row.breed_society.clone()];
    let terms: Vec<_> = rows.iter().flat_map(terms).flatten().collect::<BTreeSet<_>>().into_iter().collect();
    let mut spellings = private_spellings(c, &rows)?;
    for terms in terms.chunks(MAX_LIST_VALUES) {
        let found: Vec<_> = s::spellings.filter(s::term.eq_any(terms)).load(c)?;
        spellings.extend(found.into_iter().map(Spelling::public));
    }
    Ok(ListingChanges { rows, spellings })
}

/// Returns the spellings of breeds and societies in those of these listings that were never published.
fn private_spellings(c: &mut AnyConnection, rows: &[FacetColumns]) -> Result<Vec<Spelling>, Error> {
    let is_private = |row: &&FacetColumns| row.cancelled_as_draft || row.status == Status::Draft.as_str();
    let ids: Vec<_> = rows.iter().filter(is_private).map(|row| row.id).collect();
    let mut spellings = Vec::new();
    for ids in ids.chunks(MAX_DOCUMENTS) {
        let documents = l::listings.filter(l::id.eq_any(ids)).order(l::id).select(l::document);
        for document in documents.load::<Json>(c)? {
            let Ok(listing) = document.parse::<Listing>() else { continue };
            let breeds = listing.terms().into_iter().filter(|(term, _)| !term.starts_with(TYPE_TERM_PREFIX));
            spellings.extend(breeds.map(|(term, text)| Spelling {
                organisation_id: Some(listing.organisation_id.clone()),
                term,
                text,
            }));
        }
    }
    Ok(spellings)
}

/// Returns up to 1,000 listings in the order of their ids, after an id or from the start. Public spellings are left
/// out.
pub(crate) fn list_after(c: &mut AnyConnection, after: Option<Id>) -> Result<ListingChanges, Error> {
    let query = l::listings.order(l::id).limit(MAX_ROWS).select(FacetColumns::as_select()).into_boxed();
    let rows = match after {
        Some(id) => query.filter(l::id.gt(id)).load(c)?,
        None => query.load(c)?,
    };
    let spellings = private_spellings(c, &rows)?;
    Ok(ListingChanges { rows, spellings })
}

/// Returns up to 1,000 terms of breeds and societies with their spellings, in ascending order after a term.
pub(crate) fn spellings_after(c: &mut AnyConnection, after: &str) -> Result<Vec<Spelling>, Error> {
    let next =
        s::spellings.filter(s::term.gt(after)).filter(s::term.not_like(format!("{TYPE_TERM_PREFIX}%")));
    let found: Vec<_> = next.order(s::term).limit(MAX_ROWS).load(c)?;
    Ok(found.into_iter().map(Spelling::public).collect())
}

/// Returns the ids of the listings on the caller's wishlist.
pub(crate) fn wishlist(c: &mut AnyConnection, caller: &Caller) -> Result<Vec<Id>, Error> {
    Ok(w::wishlists.filter(w::user_id.eq(&caller.user_id)).select(w::listing_id).load(c)?)
}

/// Returns those of the listings, whose ids are in ascending order, whose texts have all words.
pub(crate) fn with_all_words(
    c: &mut AnyConnection,
    ids: &[Id],
    words: &[String],
    audience: Audience,
) -> Result<HashSet<Id>, Error> {
    let fulltext = words::selective_query(c, "listings_fts", words)?;
    if fulltext.is_some() && ids.len() > MAX_LIST_VALUES {
        // The full-text query runs once, and finds fewer than 5,000 listings.
        let query = with_words(l::listings.into_boxed(), fulltext.as_deref(), words, audience).select(l::id);
        let found: Vec<Id> = query.load(c)?;
        return Ok(found.into_iter().filter(|id| ids.binary_search(id).is_ok()).collect());
    }
    let mut found = HashSet::new();
    for ids in ids.chunks(MAX_LIST_VALUES) {
        let query = l::listings.into_boxed().filter(l::id.eq_any(ids));
        let query = with_words(query, fulltext.as_deref(), words, audience).select(l::id);
        found.extend(query.load::<Id>(c)?);
    }
    Ok(found)
}
