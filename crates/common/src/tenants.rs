//! Limits how many requests or calls of each tenant run at once, so that one tenant leaves room for others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Tenants that are remembered before those without permits are forgotten.
const MAX_IDLE: usize = 1024;

/// The permits that are held, by tenant.
pub struct TenantLimits {
    max: usize,
    tenants: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl TenantLimits {
    /// Each tenant may hold this many permits at once.
    pub fn new(max: usize) -> Self {
        Self { max, tenants: Mutex::default() }
    }

    /// Waits until the [tenant](crate::Caller::tenant) may hold another permit; `None` after this time.
    pub async fn acquire(&self, tenant: &str, longest: Duration) -> Option<OwnedSemaphorePermit> {
        let permits = self.of(tenant).acquire_owned();
        timeout(longest, permits).await.ok()?.ok()
    }

    /// A permit, if the tenant may hold another now.
    pub fn try_acquire(&self, tenant: &str) -> Option<OwnedSemaphorePermit> {
        self.of(tenant).try_acquire_owned().ok()
    }

    fn of(&self, tenant: &str) -> Arc<Semaphore> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if tenants.len() >= MAX_IDLE {
            // Each permit that is held or waited for has a reference of its own.
            tenants.retain(|_, permits| Arc::strong_count(permits) > 1);
        }
        tenants.entry(tenant.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.max))).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_waits_and_another_does_not() {
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
    fn tenants_without_permits_are_forgotten() {
        testkit::block_on(async {
            let limits = TenantLimits::new(4);
            let kept = limits.acquire("kept", Duration::ZERO).await.unwrap();
            for n in 0..2 * MAX_IDLE {
                drop(limits.acquire(&n.to_string(), Duration::ZERO).await.unwrap());
            }
            let tenants = limits.tenants.lock().unwrap();
            assert!(tenants.len() <= MAX_IDLE && tenants["kept"].available_permits() == 3);
            drop(kept);
        });
    }
}
