//! The cache of facets by combination of exact filters, evicted by least recent use.
//!
//! A change of a listing removes the combinations that count the listing before or after. So cached facets are those of
//! the present index.

use std::collections::HashMap;
use std::sync::Arc;

use common::Error;
use parking_lot::Mutex;

use super::filters::ExactFilters;

/// Entries of the cache.
pub(crate) const MAX_ENTRIES: usize = 1_024;
/// Approximate memory use of all entries, in bytes.
pub(crate) const MAX_BYTES: usize = 16 << 20;

/// The facets of one combination, as JSON; `None` before they are counted.
type CachedFacets = Arc<Mutex<Option<String>>>;

/// The cache. Requests use it while they hold the index, so that no change comes between a count and its entry.
#[derive(Debug, Default)]
pub(crate) struct FacetCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_filters: HashMap<ExactFilters, Entry>,
    /// The number of uses of all entries.
    uses: u64,
    /// The approximate memory use of all entries in bytes.
    bytes: usize,
}

#[derive(Debug, Default)]
struct Entry {
    facets: CachedFacets,
    /// The value of [`Entries::uses`] at the last use.
    last_use: u64,
    bytes: usize,
}

impl FacetCache {
    /// Returns cached facets. Returns `None` if they must be counted, or if another thread is counting them.
    pub(crate) fn get(&self, exact: &ExactFilters) -> Option<String> {
        let facets = self.0.lock().find(exact)?;
        let facets = facets.try_lock()?;
        facets.clone()
    }

    /// Returns cached facets, or counts them. Concurrent calls with the same filters share one count.
    ///
    /// # Errors
    /// If counting fails.
    pub(crate) fn get_or_count(
        &self,
        exact: &ExactFilters,
        count: impl FnOnce() -> Result<String, Error>,
    ) -> Result<String, Error> {
        let facets = self.0.lock().find_or_insert(exact);
        let mut facets = facets.lock();
        if let Some(facets) = &*facets {
            return Ok(facets.clone());
        }
        let counted = facets.insert(count()?).clone();
        self.0.lock().set_bytes(exact, counted.len());
        Ok(counted)
    }

    /// Removes the entries whose filters meet a condition.
    pub(crate) fn remove_if(&mut self, condition: impl Fn(&ExactFilters) -> bool) {
        let Entries { by_filters, bytes, .. } = self.0.get_mut();
        by_filters.retain(|exact, entry| {
            let is_kept = !condition(exact);
            *bytes -= if is_kept { 0 } else { entry.bytes };
            is_kept
        });
    }
}

impl Entries {
    /// Returns an entry and marks it as used.
    fn find(&mut self, exact: &ExactFilters) -> Option<CachedFacets> {
        self.uses += 1;
        let entry = self.by_filters.get_mut(exact)?;
        entry.last_use = self.uses;
        Some(entry.facets.clone())
    }

    /// Returns an entry and marks it as used. Inserts an empty entry if there is none.
    fn find_or_insert(&mut self, exact: &ExactFilters) -> CachedFacets {
        if let Some(facets) = self.find(exact) {
            return facets;
        }
        let entry = Entry { last_use: self.uses, ..Entry::default() };
        let facets = entry.facets.clone();
        self.by_filters.insert(exact.clone(), entry);
        facets
    }

    /// Records the memory use of an entry, and evicts the least recently used entries if the cache is too large.
    fn set_bytes(&mut self, exact: &ExactFilters, response: usize) {
        let Some(entry) = self.by_filters.get_mut(exact) else { return };
        let bytes = size_of::<Entry>() + exact.bytes() + response;
        self.bytes = self.bytes - entry.bytes + bytes;
        entry.bytes = bytes;
        while self.by_filters.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let oldest = self.by_filters.iter().min_by_key(|(_, entry)| entry.last_use);
            let Some(oldest) = oldest.map(|(exact, _)| exact.clone()) else { return };
            if let Some(entry) = self.by_filters.remove(&oldest) {
                self.bytes -= entry.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::listings::facets::tests::{VIEWERS, filters};

    #[test]
    fn the_cache_stays_within_its_limits() {
        // The first case reaches the limit of entries, the second the limit of bytes.
        for (bytes, requested, retained) in
            [(10, MAX_ENTRIES + 50, MAX_ENTRIES..=MAX_ENTRIES), (300_000, 200, 50..=60)]
        {
            let cache = FacetCache::default();
            let of_breed =
                |n: usize| filters(VIEWERS[0], &json!({"f:commodityBreed": [format!("breed {n}")]})).exact;
            for n in 0..requested {
                let counted = cache.get_or_count(&of_breed(n), || Ok("x".repeat(bytes))).unwrap();
                assert_eq!(cache.get(&of_breed(n)), Some(counted));
            }
            let entries = cache.0.lock();
            assert!(retained.contains(&entries.by_filters.len()), "{bytes} {}", entries.by_filters.len());
            let sum: usize = entries.by_filters.values().map(|entry| entry.bytes).sum();
            assert!(sum == entries.bytes && sum <= MAX_BYTES, "{sum} {}", entries.bytes);
            drop(entries);
            let is_cached = |n| cache.get(&of_breed(n)).is_some();
            assert!(!is_cached(0) && is_cached(requested - 1), "evicts the least recently used entries");
        }
        let mut cache = FacetCache::default();
        let large = filters(VIEWERS[0], &json!({"f:commodityBreed": ["x".repeat(MAX_BYTES)]})).exact;
        cache.get_or_count(&large, || Ok(String::new())).unwrap();
        assert_eq!(cache.get(&large), None, "the entry is too large");
        let small = filters(VIEWERS[0], &json!({})).exact;
        cache.get_or_count(&small, || Err(Error::NotFound)).unwrap_err();
        assert_eq!(cache.get(&small), None, "failures are not cached");
        cache.get_or_count(&small, || Ok(String::new())).unwrap();
        cache.remove_if(|_| true);
        assert_eq!((cache.get(&small), cache.0.lock().bytes), (None, 0));
    }
}
