//! The cache as other modules see it: values by key, fetched from their source on a miss.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use common::Error;
use common::cli::Checks;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::memory::MemoryBackend;
use super::redis::RedisBackend;
use super::{Backend, hits, misses};
use crate::Settings;
use crate::config::setting;

/// Maximum lifetime of an entry in seconds: a year.
const MAX_TTL_SECONDS: u64 = 365 * 24 * 3600;

/// Interval between updates of the size metrics.
const METRICS_INTERVAL: Duration = Duration::from_secs(2);

/// The cache of this deployment. Clones share their entries.
#[derive(Clone)]
pub struct Cache(Arc<dyn Backend>);

/// The entries to clear.
#[derive(Debug, Default)]
pub(super) struct ClearScope {
    /// Entries with exactly these keys.
    pub(super) keys: Vec<String>,
    /// Entries whose keys start with one of these prefixes.
    pub(super) prefixes: Vec<String>,
    /// All entries.
    pub(super) all: bool,
}

impl Cache {
    /// Opens the cache that `service.cache_url` names. An unreachable Redis delays this by one second only.
    ///
    /// # Errors
    /// Fails if a setting is invalid. The message names the setting and its valid values.
    pub async fn open(settings: &Settings) -> anyhow::Result<Self> {
        let ttl = Self::lifetime(settings)?;
        Ok(match settings.redis()? {
            None => Self(Arc::new(MemoryBackend::new(settings.cache_bytes, ttl))),
            Some(client) => Self(Arc::new(RedisBackend::open(client, &settings.cache_prefix, ttl).await)),
        })
    }

    /// Checks the settings of the cache, and that Redis answers if there is one.
    pub(crate) async fn check(settings: &Settings, checks: &mut Checks) {
        let remedy = format!("start Redis, or change {}", setting("cache_url"));
        // Invalid settings fail also without a network.
        match Self::lifetime(settings).and(settings.redis()) {
            Err(error) => checks.run("cache", &remedy, async { Err(error) }).await,
            Ok(None) => {
                checks.run("cache", &remedy, async { Ok("in the memory of the service".to_owned()) }).await;
            }
            Ok(Some(client)) => checks.run_online("cache", &remedy, RedisBackend::check(client)).await,
        }
    }

    /// Checks the settings of the cache, except its URL. Returns the lifetime of entries.
    fn lifetime(settings: &Settings) -> anyhow::Result<Duration> {
        ensure!(
            (1..=MAX_TTL_SECONDS).contains(&settings.cache_seconds),
            "{} is {}: set it to a number of seconds from 1 to {MAX_TTL_SECONDS}",
            setting("cache_seconds"),
            settings.cache_seconds
        );
        ensure!(
            !settings.cache_prefix.trim().is_empty(),
            "{} is empty: set it to a text that starts no other key in the same Redis",
            setting("cache_prefix")
        );
        Ok(Duration::from_secs(settings.cache_seconds))
    }

    /// Returns the cached value of this key. On a miss, fetches the value from `source` and caches it. Errors of the
    /// source are not cached.
    ///
    /// A key starts with its kind, two words separated by colons (`location:coordinates:…`). The kind is the label of
    /// the metrics.
    ///
    /// # Errors
    /// Returns the error of `source`.
    pub async fn get_or<T: Serialize + DeserializeOwned, E>(
        &self,
        key: &str,
        source: impl AsyncFnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let lookup = self.0.get(key).await;
        let cached = lookup.as_ref().ok().and_then(|lookup| lookup.value.as_ref());
        // A value that another version of the program wrote and this one cannot parse counts as a miss.
        if let Some(value) = cached.and_then(|json| serde_json::from_slice(json).ok()) {
            hits(&kind(key)).increment(1);
            return Ok(value);
        }
        misses(&kind(key)).increment(1);
        let value = source().await?;
        if let (Ok(lookup), Ok(json)) = (lookup, serde_json::to_vec(&value)) {
            // A failed put costs the next reader a fetch. The backend has logged it.
            let _ = self.0.put(key, json, lookup.epoch).await;
        }
        Ok(value)
    }

    /// Removes entries and returns their number.
    ///
    /// # Errors
    /// Fails with 503 if the cache is unreachable.
    pub(super) async fn clear(&self, scope: &ClearScope) -> Result<u64, Error> {
        let removed = async {
            if scope.all {
                return self.0.flush().await;
            }
            let mut count = 0;
            if !scope.keys.is_empty() {
                count += self.0.remove(&scope.keys).await?;
            }
            if !scope.prefixes.is_empty() {
                count += self.0.remove_prefixes(&scope.prefixes).await?;
            }
            Ok(count)
        };
        removed.await.map_err(unavailable)
    }

    /// Returns true if the backend responds.
    pub(crate) async fn is_reachable(&self) -> bool {
        self.0.is_reachable().await
    }

    /// Updates the size metrics periodically. Never returns.
    pub(crate) async fn update_metrics_periodically(&self) {
        loop {
            tokio::time::sleep(METRICS_INTERVAL).await;
            self.0.update_metrics().await;
        }
    }

    /// Returns the backend.
    pub(super) fn backend(&self) -> &dyn Backend {
        &*self.0
    }
}

/// Converts an error of a backend into a 503.
pub(super) fn unavailable(error: anyhow::Error) -> Error {
    Error::Unavailable(error, "The cache")
}

/// Returns the first two words of a key.
fn kind(key: &str) -> String {
    key.split(':').take(2).collect::<Vec<_>>().join(":")
}
