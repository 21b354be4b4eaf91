//! The cache of facets by combination of exact filters.
//!
//! A change of a listing does not touch the cache. An entry counts the changes since its last use when it is used
//! again, and is serialized again only if one of them affects its counts.

mod cached_facets;
mod entries;
#[cfg(test)]
mod tests;

use common::Error;
use parking_lot::Mutex;

use super::exact_filters::ExactFilters;
use super::index::FacetIndex;
use crate::categories::Categories;
use entries::CacheEntries;

/// The cache. Its methods must always get the same index, unless texts were removed from the index: then the cache
/// must be replaced.
#[derive(Debug, Default)]
pub(crate) struct FacetCache(Mutex<CacheEntries>);

impl FacetCache {
    /// Returns cached facets that are up to date or take little work to update. Returns `None` if they must be
    /// counted, or if another thread is using the entry.
    ///
    /// # Errors
    /// 500 if the facets cannot be serialized.
    pub(crate) fn try_get(
        &self,
        exact: &ExactFilters,
        index: &FacetIndex,
        categories: &Categories,
    ) -> Result<Option<String>, Error> {
        let Some(facets) = self.0.lock().find(exact) else { return Ok(None) };
        let Some(mut facets) = facets.try_lock() else { return Ok(None) };
        if !facets.is_cheap_to_update(index) {
            return Ok(None);
        }
        let response = facets.update(exact, index, categories);
        self.0.lock().set_bytes(exact, facets.bytes());
        response
    }

    /// Returns cached facets, or counts them. Concurrent calls with the same filters share one count.
    ///
    /// # Errors
    /// 500 if the facets cannot be serialized.
    pub(crate) fn get_or_count(
        &self,
        exact: ExactFilters,
        index: &FacetIndex,
        categories: &Categories,
    ) -> Result<String, Error> {
        let facets = self.0.lock().find_or_insert(&exact);
        let mut facets = facets.lock();
        let response = match facets.update(&exact, index, categories)? {
            Some(response) => response,
            None => facets.count(&exact, index, categories)?,
        };
        self.0.lock().set_bytes(&exact, facets.bytes());
        Ok(response)
    }
}
