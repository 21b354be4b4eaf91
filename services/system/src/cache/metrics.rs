//! Metrics of the cache (docs/metrics.md).

use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};

/// Lookups that found an entry of this kind.
pub(super) fn hits(kind: &str) -> Counter {
    counter!("drover_cache_hits_total", "kind" => kind.to_owned())
}

/// Lookups that found no entry of this kind.
pub(super) fn misses(kind: &str) -> Counter {
    counter!("drover_cache_misses_total", "kind" => kind.to_owned())
}

/// Redis commands that failed, including those attempted while disconnected.
pub(super) fn cache_errors() -> Counter {
    counter!("drover_cache_errors_total")
}

/// Number of entries. With Redis, all keys of its database, including those of other applications.
pub(super) fn cache_entries() -> Gauge {
    gauge!("drover_cache_entries")
}

/// Bytes of keys and values. With Redis, all memory that the server uses.
pub(super) fn cache_bytes() -> Gauge {
    gauge!("drover_cache_bytes")
}

/// Describes the metrics and initializes them to 0. `kinds` are the kinds of cached entries.
pub(crate) fn register_metrics(kinds: &[&str]) {
    describe_counter!("drover_cache_hits_total", "Cache lookups that found an entry, by kind");
    describe_counter!("drover_cache_misses_total", "Cache lookups that found no entry, by kind");
    describe_counter!(
        "drover_cache_errors_total",
        "Redis commands that failed, including those attempted while disconnected"
    );
    describe_gauge!("drover_cache_entries", "Entries in the cache; with Redis, all keys of its database");
    describe_gauge!("drover_cache_bytes", "Bytes in the cache; with Redis, all memory that the server uses");
    for kind in kinds {
        hits(kind).increment(0);
        misses(kind).increment(0);
    }
    cache_errors().increment(0);
    cache_entries().set(0.0);
    cache_bytes().set(0.0);
}
