//! A search as several queries without a common row, each of which an index answers in order. One condition with OR
//! would keep a database from using the indexes.

use std::ops::RangeInclusive;

use common::PageRequest;
use database::search::Nulls;

use super::sorts::{ListingSortKey, by_creation};
use super::{CommodityType, ListingSearch};
use crate::categories::WORKING_DOG;

/// One of these queries.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Degrees east, if the distance is limited.
    pub longitudes: Option<RangeInclusive<f64>>,
    pub breed: BreedColumn,
    pub rows: Rows,
}

/// The column that has one of the breeds of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreedColumn {
    /// The search is not limited to breeds.
    Any,
    /// `breed`.
    Breed,
    /// `breed_type`, while `breed` has none of them.
    BreedType,
}

/// The rows of a branch, by their sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All rows: each has a value.
    All,
    /// Rows with a value in the column.
    WithKey,
    /// Dogs, whose age follows from their date of birth.
    Dogs,
    /// Rows without a value.
    WithoutKey,
}

impl Branch {
    /// Returns the branches of a page.
    pub fn all(search: &ListingSearch, page: &PageRequest) -> Vec<Self> {
        let longitudes = search.bounding_area().map(|area| area.longitudes);
        let longitudes = longitudes.map_or(vec![None], |ranges| ranges.into_iter().map(Some).collect());
        let breeds = if search.breeds.is_empty() {
            &[BreedColumn::Any][..]
        } else {
            &[BreedColumn::Breed, BreedColumn::BreedType]
        };
        let only_without_key = page.after.as_ref().is_some_and(|cursor| cursor.value.is_none());
        let kinds = rows(search).iter().filter(|rows| !only_without_key || **rows == Rows::WithoutKey);
        let mut all = Vec::new();
        for rows in kinds {
            for breed in breeds {
                for range in &longitudes {
                    all.push(Self { longitudes: range.clone(), breed: *breed, rows: *rows });
                }
            }
        }
        all
    }

    /// Returns the branches that together have all matches, whatever their order.
    pub fn to_count(search: &ListingSearch) -> Vec<Self> {
        Self::all(&ListingSearch { sorting: by_creation(), ..search.clone() }, &PageRequest::first())
    }
}

fn rows(search: &ListingSearch) -> &'static [Rows] {
    let sort = search.sorting.by;
    match sort.key {
        _ if sort.nulls == Nulls::Never => &[Rows::All],
        ListingSortKey::Age => match search.commodity_type {
            Some(CommodityType::Category(id)) if id != WORKING_DOG => &[Rows::WithKey, Rows::WithoutKey],
            // A filter on ages matches only listings with an age.
            _ if search.min_age.or(search.max_age).is_some() => &[Rows::WithKey, Rows::Dogs],
            _ => &[Rows::WithKey, Rows::Dogs, Rows::WithoutKey],
        },
        // A filter on distances matches only listings with a location.
        ListingSortKey::Distance if search.within_km().is_some() => &[Rows::WithKey],
        ListingSortKey::Column(_) | ListingSortKey::Distance => &[Rows::WithKey, Rows::WithoutKey],
    }
}
