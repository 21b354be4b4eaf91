//! Events of listings, the searches that they are matched with, the terms by which searches are looked up, the matches,
//! and the lease.

use std::collections::HashSet;

use database::{Id, Json};
use diesel::prelude::*;

use crate::listings::{Cell, CommodityType, FacetColumns, ListingSearch};
use crate::schema::{listings, saved_search_cursor, saved_searches};

/// Up to which event the listings were matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Queryable, Selectable, AsChangeset)]
#[diesel(table_name = saved_search_cursor)]
pub(crate) struct SavedSearchCursor {
    /// The position of the last event; on SQLite its number.
    pub(crate) position: i64,
    /// The number of the last event.
    pub(crate) event: i64,
}

/// An event of a listing.
#[derive(Clone, Debug, Queryable)]
pub(crate) struct EventRow {
    pub(crate) n: i64,
    /// On SQLite the number.
    pub(crate) position: i64,
    pub(crate) listing_id: Id,
    pub(crate) to_status: String,
}

/// An active listing.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = listings)]
pub(crate) struct ListingToMatch {
    #[diesel(embed)]
    pub(crate) columns: FacetColumns,
    /// Tenths of a degree of latitude, rounded down.
    pub(crate) band: Option<i32>,
    pub(crate) document: Json,
}

/// A saved search with `notify`.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = saved_searches)]
pub(crate) struct SearchToMatch {
    pub(crate) id: Id,
    pub(crate) user_id: String,
    pub(crate) parameters: Json,
    pub(crate) near_lat: Option<f64>,
    pub(crate) near_lon: Option<f64>,
    pub(crate) version: i64,
    pub(crate) matches_from: i64,
}

/// The changes of searches after a position.
#[derive(Debug)]
pub(crate) struct SearchChanges {
    /// The position to read from the next time.
    pub(crate) position: i64,
    /// The numbers of the changes, with the ids of the searches that were saved, changed or deleted.
    pub(crate) changes: Vec<(i64, Id)>,
}

/// A search that finds a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchMatch {
    pub(crate) id: Id,
    /// The version of the search that was matched.
    pub(crate) version: i64,
    /// The user whose wishlist the listing must be on, if the search is limited to it.
    pub(crate) wishlist_of: Option<Box<str>>,
}

/// A listing and the searches that find it.
#[derive(Clone, Debug)]
pub(crate) struct ListingMatches {
    pub(crate) listing_id: Id,
    /// The organisation of the listing.
    pub(crate) organisation_id: String,
    pub(crate) document: Json,
    pub(crate) searches: Vec<SearchMatch>,
}

/// The outcome of storing matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// All or the first of them are stored. `matches` counts the new ones; `is_complete` is false if more remain.
    Stored { matches: usize, is_complete: bool },
    /// Nothing is stored: these searches have changed since they were matched.
    Changed(Vec<Id>),
    /// Nothing is stored: another replica has taken over.
    LeaseLost,
}

/// The outcome of a request for the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lease {
    /// This replica had it all the time since its last request.
    Kept,
    /// This replica has it now.
    Acquired,
    /// Another replica has it.
    HeldByAnother,
}

/// Something that a search requires of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Term<'a> {
    Organisation(&'a str),
    BreedSociety(&'a str),
    /// A breed or a breed type.
    Breed(&'a str),
    /// Three letters in a row of the text that words are compared with.
    Trigram(&'a str),
    /// A value of `properties.type`.
    Type(&'a str),
    Cell(Cell),
    AdditionalInfo(&'a str),
    Sex(&'a str),
    /// A main category.
    Category(i32),
    /// Nothing: every listing has this term.
    Any,
}

/// Returns the terms by which a search is looked up, all of the most selective kind that it has: a listing that the
/// search finds has one of them.
pub(crate) fn terms_of_search(search: &ListingSearch) -> Vec<Term<'_>> {
    if let Some(id) = &search.organisation_id {
        return vec![Term::Organisation(id)];
    }
    if !search.breed_societies.is_empty() {
        return search.breed_societies.iter().map(|society| Term::BreedSociety(society)).collect();
    }
    if !search.breeds.is_empty() {
        return search.breeds.iter().map(|breed| Term::Breed(breed)).collect();
    }
    if !search.breed_types.is_empty() {
        return search.breed_types.iter().map(|breed_type| Term::Breed(breed_type)).collect();
    }
    let longest = search.words.iter().max_by_key(|word| word.len());
    if let Some(trigram) = longest.and_then(|word| trigrams(word).next()) {
        return vec![Term::Trigram(trigram)];
    }
    if let Some(CommodityType::Type(name)) = &search.commodity_type {
        return vec![Term::Type(name)];
    }
    if let Some(cells) = search.bounding_area().and_then(|area| area.few_cells()) {
        return cells.into_iter().map(Term::Cell).collect();
    }
    vec![match (search.additional_info, search.sex, &search.commodity_type) {
        (Some(info), ..) => Term::AdditionalInfo(info.as_str()),
        (_, Some(sex), _) => Term::Sex(sex.as_str()),
        (.., Some(CommodityType::Category(id))) => Term::Category(*id),
        _ => Term::Any,
    }]
}

/// Returns all terms of a listing.
pub(crate) fn terms_of_listing(listing: &ListingToMatch) -> Vec<Term<'_>> {
    let columns = &listing.columns;
    let mut terms =
        vec![Term::Any, Term::Category(columns.category), Term::Organisation(&columns.organisation_id)];
    terms.extend([&columns.breed, &columns.breed_type].into_iter().flatten().map(|breed| Term::Breed(breed)));
    terms.extend(columns.breed_society.as_deref().map(Term::BreedSociety));
    terms.extend(listing.band.zip(columns.lon).map(|(band, lon)| Term::Cell(Cell::of(band, lon))));
    let lines = |column| str::split(column, '\n').filter(|line| !line.is_empty());
    terms.extend(lines(&columns.types).map(Term::Type));
    terms.extend(lines(&columns.sexes).map(Term::Sex));
    terms.extend(lines(&columns.additional_info).map(Term::AdditionalInfo));
    let trigrams: HashSet<_> = columns.search_text.iter().flat_map(|text| trigrams(text)).collect();
    terms.extend(trigrams.into_iter().map(Term::Trigram));
    terms
}

/// Returns all three letters in a row of a text.
fn trigrams(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.char_indices().map(|(start, _)| start);
    let ends = text.char_indices().map(|(start, letter)| start + letter.len_utf8()).skip(2);
    starts.zip(ends).map(|(start, end)| &text[start..end])
}
