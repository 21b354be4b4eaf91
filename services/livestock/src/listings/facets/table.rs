//! The index with the cache of the facets that were counted over it.

use common::Error;
use database::Id;

use super::cache::FacetCache;
use super::exact_filters::{ExactFilters, Viewer};
use super::index::Index;
use super::masks::Masks;
use super::model::{FacetColumns, PrivateSpelling};
use super::range_filters::RangeFilters;
use super::response::Facets;
use crate::categories::Categories;
use crate::listings::search::ListingSearch;

/// An index and its cache. Every change of the index that invalidates cached counts clears the cache.
#[derive(Debug, Default)]
pub struct FacetTable {
    pub index: Index,
    pub cache: FacetCache,
}

impl FacetTable {
    /// Adds or replaces listings.
    pub fn insert(&mut self, listings: &[FacetColumns]) {
        if self.index.insert(listings) {
            self.cache = FacetCache::default();
        }
    }

    /// Adds public spellings by term.
    pub fn add_spellings(&mut self, spellings: Vec<(String, String)>) {
        self.index.add_spellings(spellings);
    }

    /// Adds spellings of private listings.
    pub fn add_private_spellings(&mut self, spellings: Vec<PrivateSpelling>) {
        self.index.add_private_spellings(spellings);
    }

    /// Returns the facets of a search as JSON if they are cached and need little or no work. Never blocks.
    pub fn cached(
        &self,
        viewer: Viewer<'_>,
        search: &ListingSearch,
        categories: &Categories,
    ) -> Result<Option<String>, Error> {
        if search.wishlisted || RangeFilters::of(search).is_some() {
            return Ok(None);
        }
        self.cache.try_get(&ExactFilters::of(viewer, search), &self.index, categories)
    }

    /// Returns the facets of a search as JSON. With `wishlist`, only these listings count.
    ///
    /// Facets of searches with range filters or a wishlist are not cached.
    pub fn facets(
        &self,
        viewer: Viewer<'_>,
        search: &ListingSearch,
        wishlist: Option<&[Id]>,
        categories: &Categories,
    ) -> Result<String, Error> {
        let (exact, ranges) = (ExactFilters::of(viewer, search), RangeFilters::of(search));
        if let Some(ids) = wishlist {
            let (masks, counts) = self.index.count_ids(ids, &exact, ranges.as_ref());
            let spelling = |term| self.index.spelling(term, masks.private_to());
            return Facets::new(&counts, categories, spelling).to_json();
        }
        let Some(ranges) = ranges else { return self.cache.get_or_count(exact, &self.index, categories) };
        let masks = Masks::of(&exact, &self.index.texts);
        let counts = self.index.count_in_range(&masks, &ranges);
        Facets::new(&counts, categories, |term| self.index.spelling(term, masks.private_to())).to_json()
    }
}
