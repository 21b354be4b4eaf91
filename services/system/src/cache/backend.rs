//! The interface of cache backends.

use anyhow::Result;
use futures_util::future::BoxFuture;

/// The result of looking up a key.
pub(super) struct Lookup {
    /// The cached bytes, if there are any.
    pub(super) value: Option<Vec<u8>>,
    /// The epoch at the time of the lookup. Every clear starts a new epoch.
    pub(super) epoch: u64,
}

/// A store of expiring bytes by key. An error means that the store cannot be used at the moment.
pub(super) trait Backend: Send + Sync {
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
