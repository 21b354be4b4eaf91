//! A search as several queries, its branches, which have no row in common. An index has the rows of each in the order
//! of the search. One condition with OR would keep a database from using the indexes.

use std::ops::RangeInclusive;

use common::PageRequest;
use database::search::Nulls;

use super::sorts::{ListingSortKey, by_publication};
use super::{CommodityType, ListingSearch};
use crate::categories::WORKING_DOG;

/// One of the queries of a search.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    /// The longitudes of its rows in degrees east, if the distance is limited.
    pub(crate) longitudes: Option<RangeInclusive<f64>>,
    /// The column that the filter on breeds compares.
    pub(crate) breed: BreedColumn,
    /// The kind of sort keys that its rows have.
    pub(crate) keys: KeyKind,
}

/// The column that has one of the breeds of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreedColumn {
    /// None: the search is not limited to breeds.
    Any,
    /// `breed`.
    Breed,
    /// `breed_type`, while `breed` has none of them.
    BreedType,
}

/// The sort keys of the rows of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// Every listing has a value in the column: the branch has all rows.
    Always,
    /// The column has a value.
    Column,
    /// The age of a dog, computed from its date of birth.
    DogAge,
    /// None: the rows without a sort key.
    Missing,
}

impl Branch {
    /// Returns the branches of a page.
    pub(crate) fn all(search: &ListingSearch, page: &PageRequest) -> Vec<Self> {
        let longitudes = search.bounding_area().map(|area| area.longitudes);
        let longitudes = longitudes.map_or(vec![None], |ranges| ranges.into_iter().map(Some).collect());
        let breeds = if search.breeds.is_empty() {
            &[BreedColumn::Any][..]
        } else {
            &[BreedColumn::Breed, BreedColumn::BreedType]
        };
        // Rows without a sort key come last.
        let only_missing = page.after.as_ref().is_some_and(|cursor| cursor.value.is_none());
        let kinds = key_kinds(search).iter().filter(|keys| !only_missing || **keys == KeyKind::Missing);
        let mut all = Vec::new();
        for keys in kinds {
            for breed in breeds {
                for range in &longitudes {
                    all.push(Self { longitudes: range.clone(), breed: *breed, keys: *keys });
                }
            }
        }
        all
    }

    /// Returns branches that together have all matches once, in no order: as few branches as possible.
    pub(crate) fn to_count(search: &ListingSearch) -> Vec<Self> {
        Self::all(&ListingSearch { sorting: by_publication(), ..search.clone() }, &PageRequest::first())
    }
}

/// Returns the kinds of sort keys that the matches of a search can have.
fn key_kinds(search: &ListingSearch) -> &'static [KeyKind] {
    let sort = search.sorting.by;
    match sort.key {
        _ if sort.nulls == Nulls::Never => &[KeyKind::Always],
        ListingSortKey::Age => match search.commodity_type {
            Some(CommodityType::Category(id)) if id != WORKING_DOG => &[KeyKind::Column, KeyKind::Missing],
            // A filter on ages matches only listings with an age.
            _ if search.min_age.or(search.max_age).is_some() => &[KeyKind::Column, KeyKind::DogAge],
            _ => &[KeyKind::Column, KeyKind::DogAge, KeyKind::Missing],
        },
        // A filter on distances matches only listings with a location.
        ListingSortKey::Distance if search.within_km().is_some() => &[KeyKind::Column],
        ListingSortKey::Column(_) | ListingSortKey::Distance => &[KeyKind::Column, KeyKind::Missing],
    }
}
