//! The entries of the cache, evicted by least recent use.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::cached_facets::CachedFacets;
use crate::listings::facets::exact_filters::ExactFilters;

/// Entries of the cache.
pub(crate) const MAX_ENTRIES: usize = 1_024;
/// Approximate memory use of all entries, in bytes. One entry may use a quarter of it.
pub(crate) const MAX_BYTES: usize = 16 << 20;

/// All entries, and their memory use.
#[derive(Debug, Default)]
pub(crate) struct CacheEntries {
    /// The entries by the filters of their searches.
    pub(crate) by_filters: HashMap<ExactFilters, CacheEntry>,
    /// The number of uses of all entries.
    uses: u64,
    /// The approximate memory use of all entries in bytes.
    pub(crate) bytes: usize,
}

/// One entry.
#[derive(Debug, Default)]
pub(crate) struct CacheEntry {
    facets: Arc<Mutex<CachedFacets>>,
    /// The value of [`CacheEntries::uses`] at the last use.
    last_use: u64,
    /// The approximate memory use in bytes.
    pub(crate) bytes: usize,
}

impl CacheEntries {
    /// Returns an entry and marks it as used.
    pub(crate) fn find(&mut self, exact: &ExactFilters) -> Option<Arc<Mutex<CachedFacets>>> {
        self.uses += 1;
        let entry = self.by_filters.get_mut(exact)?;
        entry.last_use = self.uses;
        Some(entry.facets.clone())
    }

    /// Returns an entry and marks it as used. Inserts an empty entry if there is none.
    pub(crate) fn find_or_insert(&mut self, exact: &ExactFilters) -> Arc<Mutex<CachedFacets>> {
        if let Some(facets) = self.find(exact) {
            return facets;
        }
        let entry = CacheEntry { last_use: self.uses, ..CacheEntry::default() };
        let facets = entry.facets.clone();
        self.by_filters.insert(exact.clone(), entry);
        facets
    }

    /// Records the memory use of an entry, and evicts the least recently used entries if the cache is too large.
    pub(crate) fn set_bytes(&mut self, exact: &ExactFilters, bytes: usize) {
        let Some(entry) = self.by_filters.get_mut(exact) else { return };
        let bytes = bytes + exact.bytes();
        self.bytes = self.bytes - entry.bytes + bytes;
        entry.bytes = bytes;
        if bytes > MAX_BYTES / 4 {
            self.remove(exact);
        }
        while self.by_filters.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let oldest = self.by_filters.iter().min_by_key(|(_, entry)| entry.last_use);
            let Some(oldest) = oldest.map(|(exact, _)| exact.clone()) else { return };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, exact: &ExactFilters) {
        if let Some(entry) = self.by_filters.remove(exact) {
            self.bytes -= entry.bytes;
        }
    }
}
