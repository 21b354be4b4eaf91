//! Limits how many images are decoded at once. A decode takes a core, and up to 250 MiB for the largest images.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use common::{Error, TenantLimits};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::metrics::Waiting;

/// Requests that may wait for a decode, with those that are decoding.
const MAX_WAITING: usize = 256;
/// How many of these may belong to one tenant.
const MAX_WAITING_PER_TENANT: usize = 64;
/// How long a request waits.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

const BUSY: &str = "Too many images are being made smaller: try again later.";

/// Issues the permits to decode.
pub(super) struct Decodes {
    /// A permit for each core.
    cores: Arc<Semaphore>,
    /// The tenants' shares of them, so that the images of one tenant leave room for others: half of the cores. Few
    /// requests of a tenant wait for a core, so tenants take turns.
    shares: TenantLimits,
    line: Arc<Semaphore>,
    lines: TenantLimits,
    /// The copies that are being made. A second request for the same one waits for the first.
    copies: TenantLimits,
}

/// A place in the line.
pub(super) struct Place {
    _of_tenant: OwnedSemaphorePermit,
    _shared: OwnedSemaphorePermit,
    _waiting: Waiting,
}

/// The right to decode an image, until this is dropped.
pub(super) struct DecodePermit {
    _core: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
}

impl Default for Decodes {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            cores: Arc::new(Semaphore::new(cores)),
            shares: TenantLimits::new((cores / 2).max(1)),
            line: Arc::new(Semaphore::new(MAX_WAITING)),
            lines: TenantLimits::new(MAX_WAITING_PER_TENANT),
            copies: TenantLimits::new(1),
        }
    }
}

impl Decodes {
    /// Takes a place in the line.
    ///
    /// # Errors
    /// 503 if the line is full.
    pub(super) fn enter(&self, tenant: &str) -> Result<Place, Error> {
        let of_tenant = self.lines.try_acquire(tenant).ok_or(Error::Busy(BUSY))?;
        let shared = self.line.clone().try_acquire_owned().map_err(|_| Error::Busy(BUSY))?;
        Ok(Place { _of_tenant: of_tenant, _shared: shared, _waiting: Waiting::begin() })
    }

    /// Waits until no other request makes this copy.
    ///
    /// # Errors
    /// 503 after 30 seconds.
    pub(super) async fn lock(&self, copy: &str) -> Result<OwnedSemaphorePermit, Error> {
        self.copies.acquire(copy, WAIT_TIMEOUT).await.ok_or(Error::Busy(BUSY))
    }

    /// Waits for the tenant's turn and a core.
    ///
    /// # Errors
    /// 503 after 30 seconds.
    pub(super) async fn acquire(&self, tenant: &str) -> Result<DecodePermit, Error> {
        let acquire = async {
            let share = self.shares.acquire(tenant, WAIT_TIMEOUT).await?;
            let core = self.cores.clone().acquire_owned().await.ok()?;
            Some(DecodePermit { _core: core, _share: share })
        };
        timeout(WAIT_TIMEOUT, acquire).await.ok().flatten().ok_or(Error::Busy(BUSY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_limited() {
        let decodes = Decodes::default();
        let places: Vec<_> = (0..MAX_WAITING_PER_TENANT).map(|_| decodes.enter("a").unwrap()).collect();
        assert!(matches!(decodes.enter("a"), Err(Error::Busy(_))));
        assert!(decodes.enter("b").is_ok());
        let others: Vec<_> = (0..).map_while(|n| decodes.enter(&format!("{n}")).ok()).collect();
        assert_eq!(places.len() + others.len(), MAX_WAITING);
        drop(places);
        assert!(decodes.enter("a").is_ok());
    }

    #[test]
    fn a_tenant_leaves_cores_to_others() {
        testkit::block_on(async {
            let decodes = Decodes::default();
            let cores = decodes.cores.available_permits();
            let mut permits = Vec::new();
            for _ in 0..(cores / 2).max(1) {
                permits.push(decodes.acquire("a").await.unwrap());
            }
            let waiting = timeout(Duration::from_millis(20), decodes.acquire("a")).await;
            assert!(waiting.is_err(), "the tenant has its share");
            if cores > 1 {
                assert!(timeout(Duration::from_secs(1), decodes.acquire("b")).await.unwrap().is_ok());
            }
            permits.clear();
            assert!(decodes.acquire("a").await.is_ok());
        });
    }
}
