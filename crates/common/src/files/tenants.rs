//! Limits the calls of each tenant that run at once, so that one tenant's heavy calls leave room for those of others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Calls of one tenant that run at once. Further ones wait.
const MAX_CALLS: usize = 4;
/// Tenants that are remembered before those without calls are forgotten.
const MAX_IDLE: usize = 1024;

/// The calls under way, by tenant.
#[derive(Default)]
pub(super) struct TenantLimits(Mutex<HashMap<String, Arc<Semaphore>>>);

impl TenantLimits {
    /// Waits until the tenant may make another call; `None` after this time. The call ends when the permit is dropped.
    pub(super) async fn wait(&self, tenant: &str, longest: Duration) -> Option<OwnedSemaphorePermit> {
        let calls = self.of(tenant).acquire_owned();
        timeout(longest, calls).await.ok()?.ok()
    }

    fn of(&self, tenant: &str) -> Arc<Semaphore> {
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tenants.len() >= MAX_IDLE {
            // Each call under way or waiting holds a reference of its own.
            tenants.retain(|_, calls| Arc::strong_count(calls) > 1);
        }
        tenants.entry(tenant.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(MAX_CALLS))).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_waits_and_another_does_not() {
        testkit::block_on(async {
            let (limits, soon) = (TenantLimits::default(), Duration::from_millis(20));
            let mut calls = Vec::new();
            for _ in 0..MAX_CALLS {
                calls.push(limits.wait("a", soon).await.unwrap());
            }
            assert!(limits.wait("a", soon).await.is_none());
            assert!(limits.wait("b", soon).await.is_some());
            calls.pop();
            assert!(limits.wait("a", soon).await.is_some());
        });
    }

    #[test]
    fn tenants_without_calls_are_forgotten() {
        testkit::block_on(async {
            let limits = TenantLimits::default();
            let kept = limits.wait("kept", Duration::ZERO).await.unwrap();
            for n in 0..2 * MAX_IDLE {
                drop(limits.wait(&n.to_string(), Duration::ZERO).await.unwrap());
            }
            let tenants = limits.0.lock().unwrap();
            assert!(tenants.len() <= MAX_IDLE && tenants["kept"].available_permits() == MAX_CALLS - 1);
            drop(kept);
        });
    }
}
