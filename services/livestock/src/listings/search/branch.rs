//! A search as several queries that have no row in common, each of which an index can answer in order: what a single
//! condition with OR would keep a database from.

use std::ops::RangeInclusive;

use common::PageRequest;

use super::{CommodityType, Search, Sort};
use crate::categories::WORKING_DOG;

/// One of these queries.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Degrees east, where distance is limited.
    pub longitudes: Option<RangeInclusive<f64>>,
    pub breed: Breed,
    pub part: Part,
}

/// Where the breed that is searched for stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breed {
    /// None is searched for.
    Any,
    /// In `breed`.
    Own,
    /// In `breedType`, and not in `breed`.
    Type,
}

/// Which rows, by what they have to be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All have it.
    All,
    /// Those that have it.
    Present,
    /// Dogs, whose age follows from their birth.
    Dogs,
    /// Those that lack it.
    Missing,
}

impl Branch {
    /// All that is needed for this page of a search.
    pub fn all(search: &Search, page: &PageRequest) -> Vec<Self> {
        let longitudes = search.surroundings().map(|around| around.longitudes);
        let longitudes = longitudes.map_or(vec![None], |ranges| ranges.into_iter().map(Some).collect());
        let breeds = if search.breeds.is_empty() { &[Breed::Any][..] } else { &[Breed::Own, Breed::Type] };
        let only_missing = page.after.as_ref().is_some_and(|cursor| cursor.value.is_none());
        let parts = parts(search);
        let parts = parts.iter().filter(|part| !only_missing || **part == Part::Missing);
        let mut all = Vec::new();
        for part in parts {
            for breed in breeds {
                for range in &longitudes {
                    all.push(Self { longitudes: range.clone(), breed: *breed, part: *part });
                }
            }
        }
        all
    }

    /// All that is needed to count a search.
    pub fn to_count(search: &Search) -> Vec<Self> {
        let mut all =
            Self::all(&Search { sorting: Search::newest(), ..search.clone() }, &PageRequest::first());
        for branch in &mut all {
            branch.part = Part::All;
        }
        all
    }
}

fn parts(search: &Search) -> &'static [Part] {
    match search.sorting.sort {
        Sort::CreatedAt | Sort::OrganisationName => &[Part::All],
        Sort::Age => match search.commodity_type {
            Some(CommodityType::Category(id)) if id != WORKING_DOG => &[Part::Present, Part::Missing],
            // A filter on ages finds none without one.
            _ if search.min_age.or(search.max_age).is_some() => &[Part::Present, Part::Dogs],
            _ => &[Part::Present, Part::Dogs, Part::Missing],
        },
        // What has no place is found by no distance.
        Sort::Distance if search.within_km().is_some() => &[Part::Present],
        Sort::Price | Sort::Quantity | Sort::Distance => &[Part::Present, Part::Missing],
    }
}
