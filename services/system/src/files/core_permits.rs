//! Permits for work that keeps a core busy.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use common::TenantLimits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Issues a permit for each core, half of them to one tenant, so that the work of one tenant leaves room for others.
pub(super) struct CorePermits {
    cores: Arc<Semaphore>,
    tenants: TenantLimits,
}

/// The right to use a core, until this is dropped.
pub(super) struct CorePermit {
    _core: OwnedSemaphorePermit,
    _of_tenant: OwnedSemaphorePermit,
}

impl Default for CorePermits {
    fn default() -> Self {
        Self::new(thread::available_parallelism().map_or(1, usize::from))
    }
}

impl CorePermits {
    /// Creates permits for this number of cores.
    pub(super) fn new(cores: usize) -> Self {
        Self { cores: Arc::new(Semaphore::new(cores)), tenants: TenantLimits::new((cores / 2).max(1)) }
    }

    /// Waits for a permit. Returns `None` after the timeout.
    pub(super) async fn acquire(&self, tenant: &str, wait: Duration) -> Option<CorePermit> {
        let acquire = async {
            // Takes the tenant's permit first, so that little work of one tenant waits for a core.
            let of_tenant = self.acquire_turn(tenant, wait).await?;
            Some(CorePermit { _core: self.acquire_core(wait).await?, _of_tenant: of_tenant })
        };
        timeout(wait, acquire).await.ok().flatten()
    }

    /// Waits for the permit of the tenant alone. Returns `None` after the timeout.
    pub(super) async fn acquire_turn(&self, tenant: &str, wait: Duration) -> Option<OwnedSemaphorePermit> {
        self.tenants.acquire(tenant, wait).await
    }

    /// Waits for a core, for work that has the permit of its tenant. Returns `None` after the timeout.
    pub(super) async fn acquire_core(&self, wait: Duration) -> Option<OwnedSemaphorePermit> {
        timeout(wait, self.cores.clone().acquire_owned()).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_leaves_cores_to_others() {
        testkit::block_on(async {
            let (permits, soon) = (CorePermits::new(4), Duration::from_millis(20));
            let mut held =
                vec![permits.acquire("a", soon).await.unwrap(), permits.acquire("a", soon).await.unwrap()];
            assert!(permits.acquire("a", soon).await.is_none(), "the tenant has its half");
            let others =
                [permits.acquire("b", soon).await.unwrap(), permits.acquire("c", soon).await.unwrap()];
            assert!(permits.acquire("d", soon).await.is_none(), "all cores are busy");
            held.pop();
            assert!(permits.acquire("a", soon).await.is_some());
            drop(others);
        });
    }

    #[test]
    fn one_core_is_shared() {
        testkit::block_on(async {
            let (permits, soon) = (CorePermits::new(1), Duration::from_millis(20));
            let held = permits.acquire("a", soon).await.unwrap();
            assert!(permits.acquire("b", soon).await.is_none());
            drop(held);
            assert!(permits.acquire("b", soon).await.is_some());
        });
    }
}
