//! Limits how many images are decoded at once, how much memory that takes, and how much time of each tenant; and the
//! metrics of that (docs/metrics.md).

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use common::{Error, FairLimiter, FairPermit, PeriodLimits, TenantLimits};
use images::MAX_MEMORY_BYTES;
use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Requests in the queue: those that wait for a decode, and those that are decoding.
const MAX_QUEUED: usize = 256;
/// How many of these may belong to one tenant.
const MAX_QUEUED_PER_TENANT: usize = 64;
/// How long a request waits.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
/// The memory of all large decodes together in MiB: that of the most expensive one.
const MEMORY_MIB: u64 = MAX_MEMORY_BYTES >> 20;
/// A decode that takes more is large. A tenant has one of these at a time, so that it leaves memory to others.
const LARGE_MIB: u64 = MEMORY_MIB / 4;
/// The memory of all other decodes together in MiB. They have their own, so that they do not wait for large ones.
const SMALL_MEMORY_MIB: u64 = LARGE_MIB + 2;
/// The time in which the time of decodes is limited.
const WINDOW: Duration = Duration::from_secs(60);
/// The time that one tenant may decode in a window, on two cores or fewer, and for each further core.
const TENANT_TIME: Duration = Duration::from_secs(60);
const TENANT_TIME_PER_CORE: Duration = Duration::from_secs(30);

/// The outcomes of decodes.
const OUTCOMES: [&str; 4] = ["made", "too_large", "undecodable", "failed"];

const BUSY: &str = "Too many images are being made smaller: try again later.";
const TENANT_BUSY: &str = "Too many images of your organisation are being made smaller: try again later.";
const NO_TIME: &str = "Your organisation has used its time for making images smaller: try again in a minute.";

/// Issues the permits to decode.
pub(super) struct Decodes {
    cores: FairLimiter,
    /// A permit for each MiB, for large decodes.
    memory: Arc<Semaphore>,
    /// A permit for each MiB, for other decodes.
    small_memory: Arc<Semaphore>,
    large: TenantLimits,
    queue: FairLimiter,
    /// The copies that are being made. A second request for the same one waits for the first.
    copies: TenantLimits,
    /// The microseconds that a tenant may decode in a window.
    tenant_time: PeriodLimits,
}

/// A place of a request in the queue.
pub(super) struct QueueSlot {
    entered: Instant,
    _permit: FairPermit,
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

/// Counts the time until this is dropped as that of a tenant.
pub(super) struct Charge {
    decodes: Arc<Decodes>,
    tenant: String,
    started: Instant,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.decodes.tenant_time.add(&self.tenant, microseconds(self.started.elapsed()));
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Default for Decodes {
    fn default() -> Self {
        let permits = |mib| Arc::new(Semaphore::new(usize::try_from(mib).unwrap_or(usize::MAX)));
        let further_cores = thread::available_parallelism().map_or(0, |cores| cores.get().saturating_sub(2));
        let further_cores = u32::try_from(further_cores).unwrap_or(u32::MAX);
        let tenant_time = TENANT_TIME.saturating_add(TENANT_TIME_PER_CORE.saturating_mul(further_cores));
        Self {
            cores: FairLimiter::of_cores(),
            memory: permits(MEMORY_MIB),
            small_memory: permits(SMALL_MEMORY_MIB),
            large: TenantLimits::new(1),
            queue: FairLimiter::new(MAX_QUEUED, MAX_QUEUED_PER_TENANT),
            copies: TenantLimits::new(1),
            tenant_time: PeriodLimits::new(microseconds(tenant_time), WINDOW),
        }
    }
}

impl Decodes {
    /// Puts a request into the queue.
    ///
    /// # Errors
    /// 429 if the tenant has used its time or its part of the queue, 503 if the queue is full.
    pub(super) fn enqueue(&self, tenant: &str) -> Result<QueueSlot, Error> {
        self.check_time(tenant)?;
        let permit = self.queue.try_acquire(tenant).map_err(|full| full.error(TENANT_BUSY, BUSY))?;
        Ok(QueueSlot { entered: Instant::now(), _permit: permit, _waiting: Waiting::begin() })
    }

    /// Waits until no other request makes this copy.
    ///
    /// # Errors
    /// 503 if that takes too long.
    pub(super) async fn lock(&self, slot: &QueueSlot, copy: &str) -> Result<OwnedSemaphorePermit, Error> {
        self.copies.acquire(copy, slot.wait()).await.ok_or(Error::Busy(BUSY))
    }

    /// Waits until few enough other requests of the tenant decode.
    ///
    /// # Errors
    /// 429 if that takes too long, or the tenant has used its time meanwhile.
    pub(super) async fn acquire_turn(
        &self,
        slot: &QueueSlot,
        tenant: &str,
    ) -> Result<OwnedSemaphorePermit, Error> {
        let turn = self.cores.acquire_turn(tenant, slot.wait()).await;
        let turn = turn.map_err(|full| full.error(TENANT_BUSY, BUSY))?;
        self.check_time(tenant)?;
        Ok(turn)
    }

    /// Waits for a core.
    ///
    /// # Errors
    /// 503 if that takes too long.
    pub(super) async fn acquire_core(&self, slot: &QueueSlot) -> Result<OwnedSemaphorePermit, Error> {
        self.cores.acquire_shared(slot.wait()).await.map_err(|_| Error::Busy(BUSY))
    }

    /// Waits for memory. A request that waits holds no core.
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
            let is_large = mib > LARGE_MIB;
            let large = if is_large { Some(self.large.acquire(tenant, slot.wait()).await?) } else { None };
            let memory = if is_large { &self.memory } else { &self.small_memory };
            let permits = u32::try_from(mib).unwrap_or(u32::MAX);
            let memory = memory.clone().acquire_many_owned(permits).await.ok()?;
            Some(MemoryPermit { _memory: memory, _large: large })
        };
        timeout(slot.wait(), acquire).await.ok().flatten().ok_or(Error::Busy(BUSY))
    }

    /// Starts to count the time of a tenant.
    pub(super) fn start(self: &Arc<Self>, tenant: &str) -> Charge {
        Charge { decodes: self.clone(), tenant: tenant.to_owned(), started: Instant::now() }
    }

    /// Checks that the tenant has time left.
    ///
    /// # Errors
    /// 429 otherwise.
    fn check_time(&self, tenant: &str) -> Result<(), Error> {
        if self.tenant_time.used_up_for(tenant).is_some() {
            return Err(Error::TenantBusy(NO_TIME));
        }
        Ok(())
    }
}

/// Decodes with this outcome.
pub(super) fn outcomes(outcome: &'static str) -> Counter {
    counter!("drover_image_decodes_total", "outcome" => outcome)
}

/// Requests that were refused because too many wait.
pub(super) fn refused() -> Counter {
    counter!("drover_image_decodes_refused_total")
}

/// Duration of decodes.
pub(super) fn seconds() -> Histogram {
    histogram!("drover_image_decode_seconds")
}

fn waiting() -> Gauge {
    gauge!("drover_image_decodes_waiting")
}

/// Counts a request as waiting until it is dropped.
struct Waiting(Gauge);

impl Waiting {
    fn begin() -> Self {
        let gauge = waiting();
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// Describes the metrics and initializes them to 0.
pub(crate) fn register_metrics() {
    describe_counter!("drover_image_decodes_total", "Images decoded to make smaller copies, by outcome");
    describe_counter!(
        "drover_image_decodes_refused_total",
        "Requests refused because too many wait for a decode"
    );
    describe_gauge!("drover_image_decodes_waiting", "Requests that wait for a smaller copy, or make one");
    describe_histogram!("drover_image_decode_seconds", "Duration of making smaller copies, without waiting");
    for outcome in OUTCOMES {
        outcomes(outcome).increment(0);
    }
    refused().increment(0);
    waiting().set(0.0);
    let _ = seconds();
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[test]
    fn the_queue_is_limited() {
        let decodes = Decodes::default();
        let slots: Vec<_> = (0..MAX_QUEUED_PER_TENANT).map(|_| decodes.enqueue("a").unwrap()).collect();
        assert!(matches!(decodes.enqueue("a"), Err(Error::TenantBusy(_))));
        assert!(decodes.enqueue("b").is_ok());
        let others: Vec<_> = (0..).map_while(|n| decodes.enqueue(&format!("{n}")).ok()).collect();
        assert_eq!(slots.len() + others.len(), MAX_QUEUED);
        drop(slots);
        assert!(decodes.enqueue("a").is_ok());
    }

    #[test]
    fn the_time_of_a_tenant_is_limited() {
        let decodes = Arc::new(Decodes::default());
        let decode = |time: Duration| {
            let mut charge = decodes.start("a");
            charge.started -= time;
        };
        decode(TENANT_TIME.mul_f32(0.5));
        assert!(decodes.enqueue("a").is_ok());
        (0..100).for_each(|_| decode(TENANT_TIME));
        assert!(matches!(decodes.enqueue("a"), Err(Error::TenantBusy(_))));
        assert!(decodes.enqueue("b").is_ok());
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
            assert!(acquire("b", MAX_MEMORY_BYTES / 2).await.is_none(), "there is nothing left");
            let small = acquire("b", LARGE_MIB << 20).await.unwrap();
            assert!(acquire("c", 3 << 20).await.is_none(), "there is nothing left for small ones");
            drop((all, small));
            let half = acquire("a", MAX_MEMORY_BYTES / 2).await.unwrap();
            assert!(acquire("a", MAX_MEMORY_BYTES / 2).await.is_none(), "the tenant has a large decode");
            let other = acquire("b", MAX_MEMORY_BYTES / 2).await.unwrap();
            drop((half, other));
            // More than there is takes everything.
            let all = acquire("a", u64::MAX).await.unwrap();
            assert_eq!(decodes.memory.available_permits(), 0);
            drop(all);
        });
    }
}
