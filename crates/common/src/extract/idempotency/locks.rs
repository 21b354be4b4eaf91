//! One lock for each key that is in use in this process.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use super::key::Scope;
use crate::Error;

/// Timeout of a repeated request that waits for the first one.
const REPEAT_TIMEOUT: Duration = Duration::from_secs(5);

/// The locks of keys in use (app data).
#[derive(Default)]
pub(crate) struct KeyedLocks(Mutex<HashMap<Scope, Arc<tokio::sync::Mutex<()>>>>);

/// The lock of one key, held until it is dropped.
pub(super) struct KeyLock<'a> {
    locks: &'a KeyedLocks,
    scope: &'a Scope,
    guard: Option<OwnedMutexGuard<()>>,
}

impl KeyedLocks {
    /// Acquires the lock of a key.
    ///
    /// # Errors
    /// 409 `idempotency_in_progress` if another request holds the lock for 5 seconds.
    pub(super) async fn acquire<'a>(&'a self, scope: &'a Scope) -> Result<KeyLock<'a>, Error> {
        let mutex = self.0.lock().entry(scope.clone()).or_default().clone();
        // Created before waiting, so that a request that gives up removes the entry as well.
        let mut lock = KeyLock { locks: self, scope, guard: None };
        let guard = tokio::time::timeout(REPEAT_TIMEOUT, mutex.lock_owned()).await;
        lock.guard = Some(guard.map_err(|_| Error::IdempotencyInProgress)?);
        Ok(lock)
    }
}

impl Drop for KeyLock<'_> {
    fn drop(&mut self) {
        let mut locks = self.locks.0.lock();
        self.guard = None;
        // Only the map refers to the lock: no request holds it or waits for it.
        if locks.get(self.scope).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(self.scope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excludes_other_holders_and_removes_unused_locks() {
        testkit::block_on(async {
            let locks = KeyedLocks::default();
            let scope = Scope { caller: "a".into(), operation: "o".into(), key: "k".into() };
            let first = locks.acquire(&scope).await.unwrap();
            let second = tokio::time::timeout(Duration::from_millis(20), locks.acquire(&scope)).await;
            assert!(second.is_err(), "the lock is held");
            assert_eq!(locks.0.lock().len(), 1);
            drop(first);
            drop(locks.acquire(&scope).await.unwrap());
            assert!(locks.0.lock().is_empty());
        });
    }
}
