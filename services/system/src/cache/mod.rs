//! What is costly to get is kept for a while: in the process, or in a Redis that replicas share.
//!
//! A cache never fails a read. Where it is out of reach, whoever asks goes to the source, at the source's cost and no
//! more. Only clearing says so, since a clear that did not happen must not look like one.

mod api;
mod backend;
mod memory;
mod redis;
mod secrets;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use common::Error;
use secrecy::ExposeSecret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::Settings;
use crate::metrics::{hits, misses};
use backend::Backend;
use memory::Memory;
use redis::Redis;

pub(crate) use secrets::Secrets;

/// The longest that an entry may be kept, in seconds: a year.
const MAX_TTL_SECONDS: u64 = 365 * 24 * 3600;

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(api::clear);
}

/// The cache of this deployment. A clone is the same cache.
#[derive(Clone)]
pub struct Cache(Arc<dyn Backend>);

/// Which entries go.
#[derive(Debug, Default)]
struct Clear {
    /// Exactly these.
    keys: Vec<String>,
    /// All whose key starts with one of these.
    prefixes: Vec<String>,
    /// All.
    all: bool,
}

impl Cache {
    /// Opens the cache that `service.cache_url` names. A Redis that is out of reach is waited for a moment only.
    ///
    /// # Errors
    /// One sentence that names the setting to change.
    pub async fn open(settings: &Settings) -> anyhow::Result<Self> {
        ensure!(
            (1..=MAX_TTL_SECONDS).contains(&settings.cache_seconds),
            "service.cache_seconds must be 1 to {MAX_TTL_SECONDS}, but is {}",
            settings.cache_seconds
        );
        ensure!(
            !settings.cache_prefix.trim().is_empty(),
            "service.cache_prefix must not be empty: it tells this deployment's entries from others'"
        );
        let life = Duration::from_secs(settings.cache_seconds);
        Ok(Self(match settings.cache_url.expose_secret() {
            "memory:" => Arc::new(Memory::new(settings.cache_bytes, life)),
            url => Arc::new(Redis::open(url, &settings.cache_prefix, life).await?),
        }))
    }

    /// The value that is kept under this key, or else what the source says, which is then kept. Errors are not.
    ///
    /// A key begins with its kind, two words of the code's own choosing (`location:coordinates:…`), by which metrics
    /// are told apart.
    ///
    /// # Errors
    /// What the source returns.
    pub async fn get_or<T: Serialize + DeserializeOwned, E>(
        &self,
        key: &str,
        source: impl AsyncFnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let found = self.0.get(key).await;
        let kept = found.as_ref().ok().and_then(|found| found.value.as_ref());
        // What another version of the program kept and this one cannot read is asked for anew.
        if let Some(value) = kept.and_then(|json| serde_json::from_slice(json).ok()) {
            hits(&kind(key)).increment(1);
            return Ok(value);
        }
        misses(&kind(key)).increment(1);
        let value = source().await?;
        if let (Ok(found), Ok(json)) = (found, serde_json::to_vec(&value)) {
            // Where it cannot be kept, the next one asks the source too; the backend has told the log.
            let _ = self.0.put(key, json, found.epoch).await;
        }
        Ok(value)
    }

    /// Removes entries and gives their number.
    ///
    /// # Errors
    /// 503 when the cache cannot be reached.
    async fn clear(&self, which: &Clear) -> Result<u64, Error> {
        let removed = async {
            if which.all {
                return self.0.flush().await;
            }
            let mut count = 0;
            if !which.keys.is_empty() {
                count += self.0.remove(&which.keys).await?;
            }
            if !which.prefixes.is_empty() {
                count += self.0.remove_prefixes(&which.prefixes).await?;
            }
            Ok(count)
        };
        removed.await.map_err(unreachable)
    }

    /// True when it answers.
    pub(crate) async fn is_reachable(&self) -> bool {
        self.0.is_reachable().await
    }
}

fn unreachable(error: anyhow::Error) -> Error {
    Error::Unavailable(error, "The cache")
}

/// The first two words of a key.
fn kind(key: &str) -> String {
    key.split(':').take(2).collect::<Vec<_>>().join(":")
}
