//! The cache of facets by combination of exact filters, evicted by least recent use.
//!
//! Changes of listings are recorded, not compared with the combinations: a response is current as long as none of the
//! changes after it has a listing that counts for its combination, before or after the change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use common::Error;
use parking_lot::Mutex;

use super::columns::{Columns, FacetRow, Texts};
use super::filters::{CompiledFilters, ExactFilters, rejected};

/// Entries of the cache.
const MAX_ENTRIES: usize = 1_024;
/// Approximate memory use of all entries, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// Recorded rows. With more, the cache is cleared: most responses are old by then.
const MAX_ROWS: usize = if cfg!(test) { 20 } else { 10_000 };

/// The response of one combination; `None` before it is counted.
type CachedResponse = Arc<Mutex<Option<Response>>>;

/// The cache. Requests use it while they hold the index, so that no change comes between a count and its entry.
#[derive(Debug, Default)]
pub(crate) struct FacetCache {
    entries: Mutex<HashMap<ExactFilters, Entry>>,
    /// Listings before and after a change.
    changed: Columns,
    /// Rows that were recorded and removed before these.
    removed: usize,
}

#[derive(Debug)]
struct Entry {
    response: CachedResponse,
    /// The approximate memory use.
    bytes: usize,
    last_use: Instant,
}

#[derive(Debug)]
struct Response {
    json: String,
    /// The number of recorded rows that it counts.
    rows: usize,
}

impl FacetCache {
    /// Returns cached facets. Returns `None` if they must be counted, or if another thread is counting them.
    pub(crate) fn get(&self, exact: &ExactFilters, texts: &Texts) -> Option<String> {
        let response = self.response(exact);
        self.current(&mut *response.try_lock()?, exact, texts)
    }

    /// Returns cached facets, or counts them. Concurrent calls with the same filters share one count.
    ///
    /// # Errors
    /// If counting fails.
    pub(crate) fn get_or_count(
        &self,
        exact: &ExactFilters,
        texts: &Texts,
        count: impl FnOnce() -> Result<String, Error>,
    ) -> Result<String, Error> {
        let response = self.response(exact);
        let mut response = response.lock();
        if let Some(json) = self.current(&mut response, exact, texts) {
            return Ok(json);
        }
        let json = count()?;
        *response = Some(Response { json: json.clone(), rows: self.rows() });
        self.set_bytes(exact, exact.bytes() + json.len());
        Ok(json)
    }

    /// Records a listing before or after a change.
    pub(crate) fn record(&mut self, row: FacetRow) {
        if self.changed.len() == MAX_ROWS {
            self.clear();
        }
        self.changed.insert(self.changed.len(), row);
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.remove_if(|_| true);
        self.removed = self.rows();
        self.changed = Columns::default();
    }

    /// Removes the entries whose filters meet a condition.
    pub(crate) fn remove_if(&mut self, condition: impl Fn(&ExactFilters) -> bool) {
        self.entries.get_mut().retain(|exact, _| !condition(exact));
    }

    /// Returns the number of rows that were ever recorded.
    fn rows(&self) -> usize {
        self.removed + self.changed.len()
    }

    /// Returns a response if none of the rows since then counts for the filters.
    fn current(
        &self,
        response: &mut Option<Response>,
        exact: &ExactFilters,
        texts: &Texts,
    ) -> Option<String> {
        let response = response.as_mut()?;
        let new = response.rows.checked_sub(self.removed)?..self.changed.len();
        if !new.is_empty() {
            let mut bits = vec![0; new.len()];
            CompiledFilters::of(exact, texts).reject(&self.changed, new, &mut bits);
            if bits.iter().any(|bits| !rejected::by_several(*bits)) {
                return None;
            }
            response.rows = self.rows();
        }
        Some(response.json.clone())
    }

    /// Returns the response of an entry, which is inserted if there is none, and marks it as used.
    fn response(&self, exact: &ExactFilters) -> CachedResponse {
        let (mut entries, last_use) = (self.entries.lock(), Instant::now());
        if let Some(entry) = entries.get_mut(exact) {
            entry.last_use = last_use;
            return entry.response.clone();
        }
        let entry = Entry { response: CachedResponse::default(), bytes: 0, last_use };
        entries.entry(exact.clone()).or_insert(entry).response.clone()
    }

    /// Records the memory use of an entry, and evicts the least recently used entries if the cache is too large.
    fn set_bytes(&self, exact: &ExactFilters, bytes: usize) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get_mut(exact) {
            entry.bytes = bytes;
        }
        let bytes = |entries: &HashMap<_, Entry>| entries.values().map(|entry| entry.bytes).sum::<usize>();
        while entries.len() > MAX_ENTRIES || bytes(&entries) > MAX_BYTES {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.last_use);
            let Some(oldest) = oldest.map(|(exact, _)| exact.clone()) else { return };
            entries.remove(&oldest);
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
        let texts = Texts::default();
        // The first case reaches the limit of entries, the second the limit of bytes.
        for (bytes, requested, retained) in
            [(10, MAX_ENTRIES + 50, MAX_ENTRIES..=MAX_ENTRIES), (300_000, 200, 50..=60)]
        {
            let cache = FacetCache::default();
            let of_breed =
                |n: usize| filters(VIEWERS[0], &json!({"f:commodityBreed": [format!("breed {n}")]})).exact;
            for n in 0..requested {
                let counted = cache.get_or_count(&of_breed(n), &texts, || Ok("x".repeat(bytes))).unwrap();
                assert_eq!(cache.get(&of_breed(n), &texts), Some(counted));
            }
            let entries = cache.entries.lock().len();
            assert!(retained.contains(&entries), "{bytes} {entries}");
            let is_cached = |n| cache.get(&of_breed(n), &texts).is_some();
            assert!(!is_cached(0) && is_cached(requested - 1), "evicts the least recently used entries");
            cache.get_or_count(&of_breed(0), &texts, || Err(Error::NotFound)).unwrap_err();
            assert!(!is_cached(0), "failures are not cached");
        }
    }
}
