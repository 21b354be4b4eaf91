//! Limits how many requests or calls of each tenant run at once, so that one tenant cannot occupy the whole service.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Number of tenants from which those without permits are removed.
const CLEANUP_THRESHOLD: usize = 1024;

/// A semaphore per tenant.
pub struct TenantLimits {
    max: usize,
    tenants: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl TenantLimits {
    /// Creates limits of `max` permits per tenant.
    pub fn new(max: usize) -> Self {
        Self { max, tenants: Mutex::default() }
    }

    /// Waits for a permit of the [tenant](crate::Caller::tenant). Returns `None` after the timeout.
    pub async fn acquire(&self, tenant: &str, limit: Duration) -> Option<OwnedSemaphorePermit> {
        timeout(limit, self.semaphore(tenant).acquire_owned()).await.ok()?.ok()
    }

    /// Returns a permit if one is available now.
    pub fn try_acquire(&self, tenant: &str) -> Option<OwnedSemaphorePermit> {
        self.semaphore(tenant).try_acquire_owned().ok()
    }

    fn semaphore(&self, tenant: &str) -> Arc<Semaphore> {
        let mut tenants = self.tenants.lock();
        if tenants.len() >= CLEANUP_THRESHOLD {
            // Every permit that is held or waited for has a reference to its semaphore.
            tenants.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        }
        tenants.entry(tenant.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.max))).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_each_tenant_separately() {
        testkit::block_on(async {
            let (limits, soon) = (TenantLimits::new(4), Duration::from_millis(20));
            let mut permits = Vec::new();
            for _ in 0..4 {
                permits.push(limits.acquire("a", soon).await.unwrap());
            }
            assert!(limits.acquire("a", soon).await.is_none());
            assert!(limits.acquire("b", soon).await.is_some());
            permits.pop();
            assert!(limits.acquire("a", soon).await.is_some());
        });
    }

    #[test]
    fn removes_tenants_without_permits() {
        testkit::block_on(async {
            let limits = TenantLimits::new(4);
            let permit = limits.acquire("active", Duration::ZERO).await.unwrap();
            for n in 0..2 * CLEANUP_THRESHOLD {
                drop(limits.acquire(&n.to_string(), Duration::ZERO).await.unwrap());
            }
            let tenants = limits.tenants.lock();
            assert!(tenants.len() <= CLEANUP_THRESHOLD && tenants["active"].available_permits() == 3);
            drop(permit);
        });
    }
}
