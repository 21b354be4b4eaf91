//! Reloading of verification keys and provider credentials in all replicas. The secrets stay in the memory of each
//! process. The shared cache carries only a generation number.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::web::Data;
use common::{Error, Verifier};

use super::read_through::{Cache, unavailable};

/// Interval between checks for a new generation. Other replicas must reload their secrets within 5 s
/// (docs/api/administration.md, "Cache").
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Reloads the secrets of this process when their generation changes.
pub(crate) struct SecretReloader {
    verifier: Data<Verifier>,
    generation: AtomicU64,
}

impl SecretReloader {
    /// Starts with generation 0, the secrets that were loaded at startup.
    pub(crate) fn new(verifier: Data<Verifier>) -> Self {
        Self { verifier, generation: AtomicU64::default() }
    }

    /// Returns the current generation of secrets. The holder of a credential reads this before it loads the credential,
    /// and reloads the credential when the generation differs.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Reloads the secrets of this process and makes the other replicas reload theirs.
    ///
    /// # Errors
    /// Fails with 503 if this process cannot load the verification keys or the cache is unreachable.
    pub(crate) async fn reload_all_replicas(&self, cache: &Cache) -> Result<(), Error> {
        let keys_unavailable = |error| Error::Unavailable(error, "The identity provider");
        // Reload before starting a generation: if the keys cannot be loaded, no replica changes.
        self.verifier.reload().await.map_err(keys_unavailable)?;
        let generation = cache.backend().next_secrets_generation().await.map_err(unavailable)?;
        // Reload again: keys that changed between the two calls belong to this generation too.
        self.adopt(generation).await.map_err(keys_unavailable)
    }

    async fn adopt(&self, generation: u64) -> anyhow::Result<()> {
        self.verifier.reload().await?;
        self.generation.store(generation, Ordering::SeqCst);
        Ok(())
    }

    /// Polls the cache for a new generation and reloads the secrets. A failure is retried. Never returns.
    pub(crate) async fn watch(&self, cache: &Cache) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let Ok(generation) = cache.backend().secrets_generation().await else { continue };
            if generation == self.generation() {
                continue;
            }
            match self.adopt(generation).await {
                Ok(()) => tracing::info!(generation, "secrets reloaded"),
                Err(error) => tracing::warn!(error = format!("{error:#}"), "cannot reload the secrets"),
            }
        }
    }
}
