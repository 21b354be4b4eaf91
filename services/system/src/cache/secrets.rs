//! Verification keys and provider credentials: kept in each process only, and read again in all of them when one is
//! asked to. The cache that they share carries nothing but a number.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::web::Data;
use common::{Error, Verifier};

use super::{Cache, unreachable};

/// How often a replica looks whether another was asked; the contract promises 5 s elsewhere.
const INTERVAL: Duration = Duration::from_secs(2);

/// Which secrets this process goes by.
pub(crate) struct Secrets {
    verifier: Data<Verifier>,
    generation: AtomicU64,
}

impl Secrets {
    /// Those that were read when the service started.
    pub(crate) fn new(verifier: Data<Verifier>) -> Self {
        Self { verifier, generation: AtomicU64::default() }
    }

    /// Whoever holds a credential remembers this number from before it was read, and reads it again when it differs.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Has every replica read its secrets again; this one has when this returns.
    ///
    /// # Errors
    /// 503 when the keys cannot be read here, or the cache cannot carry the word.
    pub(crate) async fn renew(&self, cache: &Cache) -> Result<(), Error> {
        let unread = |error| Error::Unavailable(error, "The identity provider");
        // Before others are told: where nobody can read the keys, nothing changes.
        self.verifier.reload().await.map_err(unread)?;
        let generation = cache.0.next_generation().await.map_err(unreachable)?;
        // And after: what changed between the two has no number of its own.
        self.adopt(generation).await.map_err(unread)
    }

    async fn adopt(&self, generation: u64) -> anyhow::Result<()> {
        self.verifier.reload().await?;
        self.generation.store(generation, Ordering::SeqCst);
        Ok(())
    }

    /// Follows the other replicas, for as long as the service runs; a failure is tried again.
    pub(crate) async fn watch(&self, cache: &Cache) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            cache.0.measure().await;
            let Ok(generation) = cache.0.generation().await else { continue };
            if generation == self.generation() {
                continue;
            }
            match self.adopt(generation).await {
                Ok(()) => tracing::info!(generation, "the secrets were read again"),
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "the secrets could not be read again");
                }
            }
        }
    }
}
