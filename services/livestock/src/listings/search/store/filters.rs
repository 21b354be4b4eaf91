//! The filters of a search as conditions on a branch.

use common::{Caller, Error};
use database::search::words::{HasWord, containing};
use database::{AnyConnection, Id};
use diesel::dsl::{exists, sql};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Double, Text};

use super::sort_key::SquaredChord;
use crate::listings::geo::squared_chord_of;
use crate::listings::model::{Status, TYPE_TERM_PREFIX};
use crate::listings::search::plan::{Branch, BreedColumn, Candidates, KeyKind};
use crate::listings::search::{Audience, CommodityType, ListingSearch, ListingSortKey};
use crate::listings::search_fields::line;
use crate::listings::search_text::END_OF_PUBLIC_TEXT;
use crate::listings::store::{Query, not_suspended, visible_with};
use crate::organisations::any_suspended;
use crate::schema::listings::dsl as l;
use crate::schema::spellings::dsl as s;
use crate::schema::wishlists::dsl as w;

/// The column that words are compared with.
const SEARCH_TEXT: &str = "listings.search_text";

diesel::alias!(const BREED_TYPES: Alias<BreedTypes> = crate::schema::listings as breed_types);

/// A search, who reads it, and the full-text query that its statements begin with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) search: &'a ListingSearch,
    pub(crate) fulltext: Option<&'a str>,
    /// Whether there are suspended organisations: their condition costs the indexes that have all columns of a search.
    pub(crate) hides_suspended: bool,
    /// If present, no other listings have all words and lie in the box.
    pub(crate) candidates: Option<&'a [Id]>,
    /// Whether the rows are read in the order of the search, and not by an index of their places.
    pub(crate) in_order: bool,
}

impl<'a> Reading<'a> {
    /// Returns how a caller reads a search.
    pub(crate) fn new(
        c: &mut AnyConnection,
        caller: &'a Caller,
        search: &'a ListingSearch,
        candidates: &'a Candidates,
        fulltext: Option<&'a str>,
    ) -> Result<Self, Error> {
        Ok(Self {
            caller,
            search,
            fulltext,
            hides_suspended: any_suspended(c)?,
            candidates: candidates.ids(),
            in_order: candidates.are_read_in_order(search),
        })
    }
}

/// Selects the listings of a branch that the caller sees and that pass all filters, with any sort key.
pub(crate) fn matches<'a>(reading: Reading<'a>, branch: &Branch) -> Query<'a> {
    within_area(matches_anywhere(reading, branch), reading, branch)
}

/// Selects listings as [`matches`] does, but at any distance and in no box.
pub(crate) fn matches_anywhere<'a>(reading: Reading<'a>, branch: &Branch) -> Query<'a> {
    let Reading { caller, search, fulltext, hides_suspended, candidates, .. } = reading;
    let mut query = with_status(caller, search);
    if hides_suspended {
        query = not_suspended(query, caller);
    }
    if let Some(id) = &search.organisation_id {
        query = query.filter(l::organisation_id.eq(id));
    }
    if search.wishlisted {
        let wishlist = w::wishlists.filter(w::user_id.eq(&caller.user_id)).select(w::listing_id);
        query = query.filter(l::id.eq_any(wishlist));
    }
    if let Some(age) = search.min_age {
        query = query.filter(l::min_age.ge(age.scaled()).or(l::born.le(search.born_until(age))));
    }
    if let Some(age) = search.max_age {
        query = query.filter(l::max_age.le(age.scaled()).or(l::born.gt(search.born_after(age))));
    }
    query = with_words(query, fulltext, &search.words, search.audience);
    if let Some(ids) = candidates {
        query = query.filter(l::id.eq_any(ids));
    }
    if search.has_location {
        query = query.filter(if search.is_public() {
            sql::<Bool>("listings.public_x IS NOT NULL")
        } else {
            sql::<Bool>("listings.x IS NOT NULL")
        });
    }
    of_commodity(query, search, branch)
}

/// Limits a query to listings with all of these words, in what the audience sees of them. `fulltext` is the full-text
/// query that it begins with.
pub(crate) fn with_words<'a>(
    mut query: Query<'a>,
    fulltext: Option<&'a str>,
    words: &[String],
    audience: Audience,
) -> Query<'a> {
    if let Some(fulltext) = fulltext {
        let indexed = "listings.rowid IN (SELECT rowid FROM listings_fts WHERE listings_fts MATCH ";
        query = query.filter(sql::<Bool>(indexed).bind::<Text, _>(fulltext).sql(")"));
    }
    for word in words {
        query = query.filter(match audience {
            Audience::Callers => HasWord::new(SEARCH_TEXT, word),
            Audience::Visitors => HasWord::before(SEARCH_TEXT, word, END_OF_PUBLIC_TEXT),
        });
    }
    query
}

/// Limits a query to the sort keys of the branch.
pub(crate) fn with_sort_key<'a>(query: Query<'a>, search: &'a ListingSearch, branch: &Branch) -> Query<'a> {
    match (search.sorting.by.key, branch.keys) {
        (_, KeyKind::Always) => query,
        (ListingSortKey::Age, KeyKind::Column) => {
            // The age filters, as bounds of the sort key: where the index begins and ends.
            let mut query = query.filter(l::age.is_not_null());
            if let Some(age) = search.min_age {
                query = query.filter(l::age.ge(age.scaled()));
            }
            if let Some(age) = search.max_age {
                query = query.filter(l::age.le(age.scaled()));
            }
            query
        }
        (ListingSortKey::Age, KeyKind::DogAge) => {
            let mut query = query.filter(l::born.is_not_null());
            if let Some(age) = search.min_age {
                query = query.filter(l::born.le(search.born_until(age)));
            }
            if let Some(age) = search.max_age {
                query = query.filter(l::born.gt(search.born_after(age)));
            }
            query
        }
        (ListingSortKey::Age, KeyKind::Missing) => query.filter(l::age.is_null()).filter(l::born.is_null()),
        (ListingSortKey::Distance, KeyKind::Missing) if search.is_public() => {
            query.filter(l::public_x.is_null())
        }
        (ListingSortKey::Distance, KeyKind::Missing) => query.filter(l::x.is_null()),
        (ListingSortKey::Distance, _) if search.is_public() => query.filter(l::public_x.is_not_null()),
        (ListingSortKey::Distance, _) => query.filter(l::x.is_not_null()),
        (ListingSortKey::Column(name), KeyKind::Missing) => {
            query.filter(sql::<Bool>(&format!("{name} IS NULL")))
        }
        (ListingSortKey::Column(name), _) => query.filter(sql::<Bool>(&format!("{name} IS NOT NULL"))),
    }
}

/// Selects the listings that the caller sees and that pass the filter on the status.
fn with_status<'a>(caller: &'a Caller, search: &ListingSearch) -> Query<'a> {
    let Some(filter) = search.status else {
        // A wishlist shows listings that are no longer active too.
        return visible_with(caller, (!search.wishlisted).then_some(Status::Active));
    };
    let (status, kind) = filter.meaning();
    let query = visible_with(caller, Some(status));
    if let Some(kind) = kind { query.filter(l::kind.eq(kind.as_str())) } else { query }
}

/// Limits a query to listings within the distance and in the box: an index finds the area, then the distance and the
/// latitude themselves are compared.
fn within_area<'a>(mut query: Query<'a>, reading: Reading<'a>, branch: &Branch) -> Query<'a> {
    let search = reading.search;
    let Some(area) = search.bounding_area() else { return query };
    if let Some(bbox) = search.bbox {
        query = query.filter(l::z.between(*bbox.heights().start(), *bbox.heights().end()));
    }
    if reading.in_order {
        if let Some(range) = &branch.longitudes {
            // With the sign, no index finds them.
            let longitude = sql::<Bool>("+listings.lon BETWEEN ").bind::<Double, _>(*range.start());
            query = query.filter(longitude.sql(" AND ").bind::<Double, _>(*range.end()));
        }
        return query;
    }
    query = match area.few_bands() {
        Some(bands) => query.filter(l::band.eq_any(bands)),
        None => query.filter(l::band.between(*area.bands.start(), *area.bands.end())),
    };
    if let Some(range) = &branch.longitudes {
        query = query.filter(l::lon.between(*range.start(), *range.end()));
    }
    let Some(km) = search.within_km() else { return query };
    if branch.breed == BreedColumn::BreedType {
        // Most breeds are not the breed type of any listing. Then the area is not read at all.
        let of_type = BREED_TYPES.field(l::breed_type).eq_any(&search.breeds);
        query = query.filter(exists(BREED_TYPES.filter(of_type).select(BREED_TYPES.field(l::id))));
    }
    query.filter(SquaredChord::of(search).le(squared_chord_of(km)))
}

/// Limits a query by the filters on the animals or supplies.
fn of_commodity<'a>(mut query: Query<'a>, search: &'a ListingSearch, branch: &Branch) -> Query<'a> {
    match &search.commodity_type {
        Some(CommodityType::Category(id)) => query = query.filter(l::category.eq(id)),
        Some(CommodityType::Type(name)) => {
            query = query.filter(l::types.like(has_line(name)).escape('\\'));
            if search.finds_published_only() {
                // If no listing on the market ever had this type, none is read.
                let known = s::spellings.filter(s::term.eq(format!("{TYPE_TERM_PREFIX}{name}")));
                query = query.filter(exists(known));
            }
        }
        None => {}
    }
    // PostgreSQL reads an index in order after an equality, not after a list of one value.
    query = match (branch.breed, search.breeds.as_slice()) {
        (BreedColumn::Any, _) => query,
        (BreedColumn::Breed, [breed]) => query.filter(l::breed.eq(breed)),
        (BreedColumn::Breed, breeds) => query.filter(l::breed.eq_any(breeds)),
        (BreedColumn::BreedType, [breed]) => query.filter(l::breed_type.eq(breed)),
        (BreedColumn::BreedType, breeds) => query.filter(l::breed_type.eq_any(breeds)),
    };
    if branch.breed == BreedColumn::BreedType {
        query = query.filter(l::breed.is_null().or(l::breed.ne_all(&search.breeds)));
    }
    query = match search.breed_types.as_slice() {
        [] => query,
        [breed_type] => query.filter(l::breed_type.eq(breed_type)),
        breed_types => query.filter(l::breed_type.eq_any(breed_types)),
    };
    if !search.breed_societies.is_empty() {
        query = query.filter(l::breed_society.eq_any(&search.breed_societies));
    }
    if let Some(sex) = search.sex {
        query = query.filter(l::sexes.like(has_line(sex.as_str())).escape('\\'));
    }
    if let Some(info) = search.additional_info {
        query = query.filter(l::additional_info.like(has_line(info.as_str())).escape('\\'));
    }
    query
}

/// Returns the LIKE pattern that matches a column of [`lines`](crate::listings::search_fields::lines) if `text` is one
/// of them.
fn has_line(text: &str) -> String {
    containing(&line(text))
}
