//! A read-through cache of provider responses, in memory or in a Redis that the replicas share.
//!
//! A failing cache never fails a read: the caller queries the source instead, at the cost of that query only. Only
//! clearing reports an unreachable cache, because a clear that did nothing must not look like a success.

mod handlers;
mod memory;
mod read_through;
mod redis;
mod secrets;
#[cfg(test)]
mod tests;

use anyhow::Result;
use futures_util::future::BoxFuture;
use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};

pub(crate) use handlers::routes;
pub use read_through::Cache;
pub(crate) use secrets::SecretReloader;

/// The result of looking up a key.
struct Lookup {
    /// The cached bytes, if there are any.
    value: Option<Vec<u8>>,
    /// The epoch at the time of the lookup. Every clear starts a new epoch.
    epoch: u64,
}

/// A store of expiring bytes by key. An error means that the store cannot be used at the moment.
trait Backend: Send + Sync {
    /// Looks up a key.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Lookup>>;

    /// Stores a value unless a clear started a new epoch since the lookup: the value may have been fetched before that
    /// clear.
    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, epoch: u64) -> BoxFuture<'a, Result<()>>;

    /// Removes the entries with these keys and returns their number.
    fn remove<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<u64>>;

    /// Removes the entries whose keys start with one of these prefixes and returns their number.
    fn remove_prefixes<'a>(&'a self, prefixes: &'a [String]) -> BoxFuture<'a, Result<u64>>;

    /// Removes all entries of this deployment and returns their number.
    fn flush(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async { self.remove_prefixes(&[String::new()]).await })
    }

    /// Returns the generation of secrets. Replicas reload their secrets when it changes. No cache key or prefix
    /// addresses it.
    fn secrets_generation(&self) -> BoxFuture<'_, Result<u64>>;

    /// Starts the next generation of secrets and returns it.
    fn next_secrets_generation(&self) -> BoxFuture<'_, Result<u64>>;

    /// Returns true if the backend responds.
    fn is_reachable(&self) -> BoxFuture<'_, bool>;

    /// Updates the metrics of the cache's size.
    fn update_metrics(&self) -> BoxFuture<'_, ()>;
}

/// Lookups that found an entry of this kind.
fn hits(kind: &str) -> Counter {
    counter!("drover_cache_hits_total", "kind" => kind.to_owned())
}

/// Lookups that found no entry of this kind.
fn misses(kind: &str) -> Counter {
    counter!("drover_cache_misses_total", "kind" => kind.to_owned())
}

/// Redis commands that failed, including those attempted while disconnected.
fn cache_errors() -> Counter {
    counter!("drover_cache_errors_total")
}

/// Number of entries. With Redis, all keys of its database, including those of other applications.
fn cache_entries() -> Gauge {
    gauge!("drover_cache_entries")
}

/// Bytes of keys and values. With Redis, all memory that the server uses.
fn cache_bytes() -> Gauge {
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
