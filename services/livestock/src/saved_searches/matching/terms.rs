//! Terms: what a listing must have to match a search. A search is looked up by one kind of term, the most selective one
//! that it has.

use std::collections::HashSet;

use super::model::ListingToMatch;
use crate::listings::{Cell, CommodityType, ListingSearch};

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

/// Returns the terms by which a search is looked up: a listing that the search finds has one of them.
pub(crate) fn of_search(search: &ListingSearch) -> Vec<Term<'_>> {
    if let Some(id) = &search.organisation_id {
        return vec![Term::Organisation(id)];
    }
    if !search.breed_societies.is_empty() {
        return search.breed_societies.iter().map(|society| Term::BreedSociety(society)).collect();
    }
    if !search.breeds.is_empty() {
        return search.breeds.iter().map(|breed| Term::Breed(breed)).collect();
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
pub(crate) fn of_listing(listing: &ListingToMatch) -> Vec<Term<'_>> {
    let columns = &listing.columns;
    let mut terms =
        vec![Term::Any, Term::Category(columns.category), Term::Organisation(&columns.organisation_id)];
    terms.extend([&columns.breed, &columns.breed_type].into_iter().flatten().map(|breed| Term::Breed(breed)));
    terms.extend(columns.breed_society.as_deref().map(Term::BreedSociety));
    terms.extend(listing.band.zip(listing.lon).map(|(band, lon)| Term::Cell(Cell::of(band, lon))));
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
