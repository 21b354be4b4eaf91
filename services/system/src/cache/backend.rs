//! What a cache can be made of.

use anyhow::Result;
use futures_util::future::BoxFuture;

/// What was found under a key.
pub(super) struct Found {
    /// As it was put.
    pub(super) value: Option<Vec<u8>>,
    /// What time it is by the count of clears.
    pub(super) epoch: u64,
}

/// Something that keeps bytes under keys for a while. Every error means that it is out of reach.
pub(super) trait Backend: Send + Sync {
    /// What is kept under this key.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Found>>;

    /// Keeps a value, unless something was cleared since the epoch at which the key was looked for: the value may
    /// have been asked for before that.
    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, epoch: u64) -> BoxFuture<'a, Result<()>>;

    /// Removes these entries and gives their number.
    fn remove<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<u64>>;

    /// Removes the entries whose key starts with one of these, and gives their number.
    fn remove_prefixes<'a>(&'a self, prefixes: &'a [String]) -> BoxFuture<'a, Result<u64>>;

    /// Removes every entry of this deployment and gives their number.
    fn flush(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async { self.remove_prefixes(&[String::new()]).await })
    }

    /// Which secrets are in force: another number means that they must be read again. No key names it.
    fn generation(&self) -> BoxFuture<'_, Result<u64>>;

    /// Puts another generation in force and gives its number.
    fn next_generation(&self) -> BoxFuture<'_, Result<u64>>;

    /// True when it answers.
    fn is_reachable(&self) -> BoxFuture<'_, bool>;

    /// Brings the metrics of its size up to date; called every few seconds.
    fn measure(&self) -> BoxFuture<'_, ()>;
}
