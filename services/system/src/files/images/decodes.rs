//! Limits how many images are decoded at once, and how much memory that takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Error, TenantLimits};
use images::MAX_MEMORY_BYTES;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::metrics::Waiting;
use crate::files::core_permits::{CorePermit, CorePermits};

/// Requests in the queue: those that wait for a decode, and those that are decoding.
const MAX_QUEUED: usize = 256;
/// How many of these may belong to one tenant.
const MAX_QUEUED_PER_TENANT: usize = 64;
/// How long a request waits.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
/// The memory of all decodes together in MiB: that of the most expensive one.
const MEMORY_MIB: u64 = MAX_MEMORY_BYTES >> 20;
/// A decode that takes more is large. A tenant has one of these at a time, so that it leaves memory to others.
const LARGE_MIB: u64 = MEMORY_MIB / 4;

const BUSY: &str = "Too many images are being made smaller: try again later.";

/// Issues the permits to decode.
pub(super) struct Decodes {
    cores: CorePermits,
    /// A permit for each MiB.
    memory: Arc<Semaphore>,
    large: TenantLimits,
    queue: Arc<Semaphore>,
    tenant_queues: TenantLimits,
    /// The copies that are being made. A second request for the same one waits for the first.
    copies: TenantLimits,
}

/// A place of a request in the queue.
pub(super) struct QueueSlot {
    entered: Instant,
    _of_tenant: OwnedSemaphorePermit,
    _shared: OwnedSemaphorePermit,
    _waiting: Waiting,
}

impl QueueSlot {
    /// Returns how long the request may still wait.
    fn wait(&self) -> Duration {
        WAIT_TIMEOUT.saturating_sub(self.entered.elapsed())
    }
}

/// The right to use the memory for a decode, until this is dropped.
pub(super) struct MemoryPermit {
    _memory: OwnedSemaphorePermit,
    _large: Option<OwnedSemaphorePermit>,
}

impl Default for Decodes {
    fn default() -> Self {
        Self {
            cores: CorePermits::default(),
            memory: Arc::new(Semaphore::new(usize::try_from(MEMORY_MIB).unwrap_or(usize::MAX))),
            large: TenantLimits::new(1),
            queue: Arc::new(Semaphore::new(MAX_QUEUED)),
            tenant_queues: TenantLimits::new(MAX_QUEUED_PER_TENANT),
            copies: TenantLimits::new(1),
        }
    }
}

impl Decodes {
    /// Puts a request into the queue.
    ///
    /// # Errors
    /// 503 if the queue is full.
    pub(super) fn enqueue(&self, tenant: &str) -> Result<QueueSlot, Error> {
        let of_tenant = self.tenant_queues.try_acquire(tenant).ok_or(Error::Busy(BUSY))?;
        let shared = self.queue.clone().try_acquire_owned().map_err(|_| Error::Busy(BUSY))?;
        Ok(QueueSlot {
            entered: Instant::now(),
            _of_tenant: of_tenant,
            _shared: shared,
            _waiting: Waiting::begin(),
        })
    }

    /// Waits until no other request makes this copy.
    ///
    /// # Errors
    /// 503 if that takes too long.
    pub(super) async fn lock(&self, slot: &QueueSlot, copy: &str) -> Result<OwnedSemaphorePermit, Error> {
        self.copies.acquire(copy, slot.wait()).await.ok_or(Error::Busy(BUSY))
    }

    /// Waits for a core.
    ///
    /// # Errors
    /// 503 if that takes too long.
    pub(super) async fn acquire_core(&self, slot: &QueueSlot, tenant: &str) -> Result<CorePermit, Error> {
        self.cores.acquire(tenant, slot.wait()).await.ok_or(Error::Busy(BUSY))
    }

    /// Waits for memory.
    ///
    /// # Errors
    /// 503 if that takes too long.
    pub(super) async fn acquire_memory(
        &self,
        slot: &QueueSlot,
        tenant: &str,
        bytes: u64,
    ) -> Result<MemoryPermit, Error> {
        let mib = bytes.div_ceil(1 << 20).min(MEMORY_MIB);
        let acquire = async {
            let large =
                if mib > LARGE_MIB { Some(self.large.acquire(tenant, slot.wait()).await?) } else { None };
            let permits = u32::try_from(mib).unwrap_or(u32::MAX);
            let memory = self.memory.clone().acquire_many_owned(permits).await.ok()?;
            Some(MemoryPermit { _memory: memory, _large: large })
        };
        timeout(slot.wait(), acquire).await.ok().flatten().ok_or(Error::Busy(BUSY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[test]
    fn the_queue_is_limited() {
        let decodes = Decodes::default();
        let slots: Vec<_> = (0..MAX_QUEUED_PER_TENANT).map(|_| decodes.enqueue("a").unwrap()).collect();
        assert!(matches!(decodes.enqueue("a"), Err(Error::Busy(_))));
        assert!(decodes.enqueue("b").is_ok());
        let others: Vec<_> = (0..).map_while(|n| decodes.enqueue(&format!("{n}")).ok()).collect();
        assert_eq!(slots.len() + others.len(), MAX_QUEUED);
        drop(slots);
        assert!(decodes.enqueue("a").is_ok());
    }

    #[test]
    fn requests_wait_for_a_limited_time() {
        testkit::block_on(async {
            let decodes = Decodes::default();
            let mut slot = decodes.enqueue("a").unwrap();
            let lock = decodes.lock(&slot, "copy").await.unwrap();
            slot.entered -= WAIT_TIMEOUT;
            assert!(matches!(decodes.lock(&slot, "copy").await, Err(Error::Busy(_))));
            drop(lock);
        });
    }

    #[test]
    fn memory_is_limited() {
        testkit::block_on(async {
            let decodes = Decodes::default();
            let slot = decodes.enqueue("a").unwrap();
            let acquire = async |tenant, bytes| {
                timeout(SOON, decodes.acquire_memory(&slot, tenant, bytes)).await.ok().map(Result::unwrap)
            };
            let all = acquire("a", MAX_MEMORY_BYTES).await.unwrap();
            assert!(acquire("b", 1).await.is_none(), "there is nothing left");
            drop(all);
            let half = acquire("a", MAX_MEMORY_BYTES / 2).await.unwrap();
            assert!(acquire("a", MAX_MEMORY_BYTES / 2).await.is_none(), "the tenant has a large decode");
            let small = acquire("a", MAX_MEMORY_BYTES / 8).await.unwrap();
            assert!(acquire("b", MAX_MEMORY_BYTES / 2).await.is_none());
            drop(small);
            let other = acquire("b", MAX_MEMORY_BYTES / 2).await.unwrap();
            drop((half, other));
            // More than there is takes everything.
            let all = acquire("a", u64::MAX).await.unwrap();
            assert_eq!(decodes.memory.available_permits(), 0);
            drop(all);
        });
    }
}
