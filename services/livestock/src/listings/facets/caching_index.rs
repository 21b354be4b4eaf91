//! The index together with the cache of the facets that were counted over it.

use common::Error;

use super::cache::FacetCache;
use super::compiled_filters::CompiledFilters;
use super::exact_filters::{ExactFilters, Viewer};
use super::index::FacetIndex;
use super::model::{FacetColumns, ListingChanges, PrivateSpelling, StoredMatches};
use super::range_filters::RangeFilters;
use super::response::Facets;
use crate::categories::Categories;
use crate::listings::search::ListingSearch;

/// An index that caches facets. Clears the cache with every change of the index that cached counts cannot follow.
#[derive(Debug, Default)]
pub(crate) struct CachingIndex {
    /// The index itself.
    pub(crate) inner: FacetIndex,
    /// The facets that were counted over the index.
    pub(crate) cache: FacetCache,
}

impl From<FacetIndex> for CachingIndex {
    fn from(inner: FacetIndex) -> Self {
        Self { inner, cache: FacetCache::default() }
    }
}

impl CachingIndex {
    /// Applies changes of listings.
    pub(crate) fn apply(&mut self, changes: ListingChanges) {
        self.insert(&changes.rows);
        self.add_spellings(changes.spellings);
        self.add_private_spellings(changes.private_spellings);
    }

    /// Adds or replaces listings.
    pub(crate) fn insert(&mut self, listings: &[FacetColumns]) {
        if self.inner.insert(listings) {
            self.cache = FacetCache::default();
        }
    }

    /// Adds public spellings by term.
    pub(crate) fn add_spellings(&mut self, spellings: Vec<(String, String)>) {
        self.inner.add_spellings(spellings);
    }

    /// Adds spellings of private listings.
    pub(crate) fn add_private_spellings(&mut self, spellings: Vec<PrivateSpelling>) {
        self.inner.add_private_spellings(spellings);
    }

    /// Returns the facets of a search as JSON if they are cached and need little or no work. Never blocks.
    ///
    /// # Errors
    /// 500 if the facets cannot be serialized.
    pub(crate) fn cached(
        &self,
        viewer: Viewer<'_>,
        search: &ListingSearch,
        categories: &Categories,
    ) -> Result<Option<String>, Error> {
        if search.wishlisted || !search.words.is_empty() || RangeFilters::of(search).is_some() {
            return Ok(None);
        }
        self.cache.try_get(&ExactFilters::of(viewer, search), &self.inner, categories)
    }

    /// Returns the facets of a search as JSON. `stored` is what the database knows of it.
    ///
    /// Facets of searches with range filters, words or a wishlist are not cached: there are too many different ones.
    ///
    /// # Errors
    /// 500 if the facets cannot be serialized.
    pub(crate) fn facets(
        &self,
        viewer: Viewer<'_>,
        search: &ListingSearch,
        stored: &StoredMatches,
        categories: &Categories,
    ) -> Result<String, Error> {
        let (exact, ranges) = (ExactFilters::of(viewer, search), RangeFilters::of(search));
        let words = self.inner.word_filter(&search.words, search.audience, &stored.long_texts);
        if let Some(ids) = &stored.wishlist {
            let (filters, counts) = self.inner.count_ids(ids, &exact, ranges.as_ref(), words.as_ref());
            let spelling = |term| self.inner.spelling(term, filters.private_to());
            return Facets::new(&counts, categories, spelling).to_json();
        }
        if ranges.is_none() && words.is_none() {
            return self.cache.get_or_count(exact, &self.inner, categories);
        }
        let filters = CompiledFilters::of(&exact, &self.inner.texts);
        let counts = self.inner.count_in_range(&filters, ranges.as_ref(), words.as_ref());
        Facets::new(&counts, categories, |term| self.inner.spelling(term, filters.private_to())).to_json()
    }
}
