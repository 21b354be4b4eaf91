//! The in-memory backend, bounded by size. Each replica has its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use futures_util::future::BoxFuture;
use tokio::sync::RwLock;

use super::{Backend, Lookup, cache_bytes, cache_entries};

/// Entries in the memory of this process.
pub(super) struct MemoryBackend {
    entries: moka::future::Cache<String, Vec<u8>>,
    /// Number of clears. A put holds the read lock, so a clear waits for puts of the previous epoch.
    epoch: RwLock<u64>,
    secrets_generation: AtomicU64,
}

impl MemoryBackend {
    /// Creates a cache of at most `max_bytes` of keys and values. Entries expire after `ttl`.
    pub(super) fn new(max_bytes: u64, ttl: Duration) -> Self {
        let weigh =
            |key: &String, value: &Vec<u8>| u32::try_from(key.len() + value.len()).unwrap_or(u32::MAX);
        let entries = moka::future::Cache::builder().max_capacity(max_bytes).weigher(weigh).time_to_live(ttl);
        Self { entries: entries.build(), epoch: RwLock::default(), secrets_generation: AtomicU64::default() }
    }

    async fn remove_each(&self, keys: impl Iterator<Item = &String>) -> u64 {
        let mut removed = 0;
        for key in keys {
            // `remove` also returns expired entries that are not evicted yet; `contains_key` excludes them.
            removed += u64::from(self.entries.contains_key(key) && self.entries.remove(key).await.is_some());
        }
        removed
    }
}

impl Backend for MemoryBackend {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Lookup>> {
        Box::pin(async move {
            let epoch = *self.epoch.read().await;
            Ok(Lookup { value: self.entries.get(key).await, epoch })
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, epoch: u64) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let current_epoch = self.epoch.read().await;
            if *current_epoch == epoch {
                self.entries.insert(key.to_owned(), value).await;
            }
            Ok(())
        })
    }

    fn remove<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            *self.epoch.write().await += 1;
            Ok(self.remove_each(keys.iter()).await)
        })
    }

    fn remove_prefixes<'a>(&'a self, prefixes: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            *self.epoch.write().await += 1;
            let matches = |key: &str| prefixes.iter().any(|prefix| key.starts_with(prefix));
            let keys: Vec<_> = self.entries.iter().map(|(key, _)| key).filter(|key| matches(key)).collect();
            Ok(self.remove_each(keys.iter().map(AsRef::as_ref)).await)
        })
    }

    fn secrets_generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async { Ok(self.secrets_generation.load(Ordering::SeqCst)) })
    }

    fn next_secrets_generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async { Ok(self.secrets_generation.fetch_add(1, Ordering::SeqCst) + 1) })
    }

    fn is_reachable(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { true })
    }

    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    fn update_metrics(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.entries.run_pending_tasks().await;
            cache_entries().set(self.entries.entry_count() as f64);
            cache_bytes().set(self.entries.weighted_size() as f64);
        })
    }
}
