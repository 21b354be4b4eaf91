//! One lock for each key that is in use in this process, and what the responses of each user take.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use super::key::Scope;
use crate::Error;

/// Timeout of a repeated request that waits for the first one.
const REPEAT_TIMEOUT: Duration = Duration::from_secs(5);

/// The bytes of responses that the keys of a user store in a [`STORED_PERIOD`], in one process, before further keys
/// are refused: a request of some bytes can have a response of 100 KiB, which is kept for 24 hours.
const MAX_STORED_BYTES: usize = 64 << 20;
/// The period of [`MAX_STORED_BYTES`].
const STORED_PERIOD: Duration = Duration::from_secs(3600);
/// Users whose bytes are counted before those are forgotten whose period has ended.
const MAX_COUNTED_USERS: usize = 10_000;

/// The locks of keys in use, and the bytes of stored responses (app data).
#[derive(Default)]
pub(crate) struct KeyedLocks {
    locks: Mutex<HashMap<Scope, Arc<tokio::sync::Mutex<()>>>>,
    stored: Mutex<HashMap<String, Stored>>,
}

/// What the keys of a user stored in a period.
struct Stored {
    since: Instant,
    bytes: usize,
}

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
        let mutex = self.locks.lock().entry(scope.clone()).or_default().clone();
        // Created before waiting, so that a request that gives up removes the entry as well.
        let mut lock = KeyLock { locks: self, scope, guard: None };
        let guard = tokio::time::timeout(REPEAT_TIMEOUT, mutex.lock_owned()).await;
        lock.guard = Some(guard.map_err(|_| Error::IdempotencyInProgress)?);
        Ok(lock)
    }

    /// Checks that the keys of a user may store more responses.
    ///
    /// # Errors
    /// 429 if they stored [`MAX_STORED_BYTES`] in the last hour.
    pub(super) fn check_stored(&self, scope: &Scope) -> Result<(), Error> {
        match self.stored.lock().get(&scope.caller) {
            Some(Stored { since, bytes }) if *bytes >= MAX_STORED_BYTES => {
                let wait = STORED_PERIOD.saturating_sub(since.elapsed());
                if wait.is_zero() { Ok(()) } else { Err(Error::RateLimited(wait.as_secs() + 1)) }
            }
            _ => Ok(()),
        }
    }

    /// Counts a response that a key of the user stored.
    pub(super) fn count_stored(&self, scope: &Scope, bytes: usize) {
        let mut stored = self.stored.lock();
        if stored.len() >= MAX_COUNTED_USERS {
            stored.retain(|_, user| user.since.elapsed() < STORED_PERIOD);
        }
        let user = stored.entry(scope.caller.clone()).or_insert(Stored { since: Instant::now(), bytes: 0 });
        if user.since.elapsed() >= STORED_PERIOD {
            *user = Stored { since: Instant::now(), bytes: 0 };
        }
        user.bytes = user.bytes.saturating_add(bytes);
    }
}

impl Drop for KeyLock<'_> {
    fn drop(&mut self) {
        let mut locks = self.locks.locks.lock();
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
            assert_eq!(locks.locks.lock().len(), 1);
            drop(first);
            drop(locks.acquire(&scope).await.unwrap());
            assert!(locks.locks.lock().is_empty());
        });
    }

    #[test]
    fn a_user_stores_responses_up_to_a_limit() {
        let locks = KeyedLocks::default();
        let scope = |caller: &str| Scope { caller: caller.into(), operation: "o".into(), key: "k".into() };
        locks.count_stored(&scope("a"), MAX_STORED_BYTES - 1);
        locks.check_stored(&scope("a")).unwrap();
        locks.count_stored(&scope("a"), 1);
        assert!(matches!(locks.check_stored(&scope("a")), Err(Error::RateLimited(1..=3600))));
        locks.check_stored(&scope("b")).unwrap();
    }
}
