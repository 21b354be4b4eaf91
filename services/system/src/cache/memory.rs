//! The cache within the process, bound by its size. Each replica has its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use futures_util::future::BoxFuture;
use tokio::sync::RwLock;

use super::backend::{Backend, Found};
use crate::metrics::{cache_bytes, cache_entries};

pub(super) struct Memory {
    entries: moka::future::Cache<String, Vec<u8>>,
    /// The count of clears. Read while an entry is put, so that a clear waits for those who still go by the old one.
    epoch: RwLock<u64>,
    secrets: AtomicU64,
}

impl Memory {
    /// Keeps so many bytes of keys and values.
    pub(super) fn new(bytes: u64, life: Duration) -> Self {
        let weigh =
            |key: &String, value: &Vec<u8>| u32::try_from(key.len() + value.len()).unwrap_or(u32::MAX);
        let entries = moka::future::Cache::builder().max_capacity(bytes).weigher(weigh).time_to_live(life);
        Self { entries: entries.build(), epoch: RwLock::default(), secrets: AtomicU64::default() }
    }

    async fn discard(&self, keys: impl Iterator<Item = &String>) -> u64 {
        let mut count = 0;
        for key in keys {
            // What has expired is no entry any more, though it may still be there.
            count += u64::from(self.entries.contains_key(key) && self.entries.remove(key).await.is_some());
        }
        count
    }
}

impl Backend for Memory {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Found>> {
        Box::pin(async move {
            let epoch = *self.epoch.read().await;
            Ok(Found { value: self.entries.get(key).await, epoch })
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, epoch: u64) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let now = self.epoch.read().await;
            if *now == epoch {
                self.entries.insert(key.to_owned(), value).await;
            }
            Ok(())
        })
    }

    fn remove<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            *self.epoch.write().await += 1;
            Ok(self.discard(keys.iter()).await)
        })
    }

    fn remove_prefixes<'a>(&'a self, prefixes: &'a [String]) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            *self.epoch.write().await += 1;
            let named = |key: &str| prefixes.iter().any(|prefix| key.starts_with(prefix));
            let keys: Vec<_> = self.entries.iter().map(|(key, _)| key).filter(|key| named(key)).collect();
            Ok(self.discard(keys.iter().map(AsRef::as_ref)).await)
        })
    }

    fn generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async { Ok(self.secrets.load(Ordering::SeqCst)) })
    }

    fn next_generation(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async { Ok(self.secrets.fetch_add(1, Ordering::SeqCst) + 1) })
    }

    fn is_reachable(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { true })
    }

    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    fn measure(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.entries.run_pending_tasks().await;
            cache_entries().set(self.entries.entry_count() as f64);
            cache_bytes().set(self.entries.weighted_size() as f64);
        })
    }
}
