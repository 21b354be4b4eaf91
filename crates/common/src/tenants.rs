//! Limits how many requests or calls of each tenant run at once, so that one tenant cannot occupy the whole service.
//! [`TenantLimits`] limits each tenant, [`FairLimiter`] also all of them together, [`PeriodLimits`] what each tenant
//! uses in a period.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use crate::Error;

/// The number of tenants at which those that use nothing any more are removed.
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

/// A limit on what each tenant uses in a period, which begins with its first use.
pub struct PeriodLimits {
    max: u64,
    period: Duration,
    used: Mutex<Used>,
}

/// What tenants used, and since when.
#[derive(Default)]
struct Used {
    by_tenant: HashMap<String, (Instant, u64)>,
    /// The number of tenants at which those whose period has ended are removed.
    cleanup_at: usize,
}

impl PeriodLimits {
    /// Creates a limit of `max` units in a period.
    pub fn new(max: u64, period: Duration) -> Self {
        Self { max, period, used: Mutex::default() }
    }

    /// Creates a limit for an hour; 0: none.
    pub fn hourly(max: u32) -> Self {
        let max = if max == 0 { u64::MAX } else { max.into() };
        Self::new(max, Duration::from_secs(3600))
    }

    /// Checks that the tenant may use more now.
    ///
    /// # Errors
    /// 429 with this message if it has used up the limit.
    pub fn check(&self, tenant: &str, used_up: &'static str) -> Result<(), Error> {
        self.used_up_for(tenant).map_or(Ok(()), |wait| Err(Error::TooOften(used_up, wait.as_secs() + 1)))
    }

    /// Returns how long until the tenant may use more, or `None` if it may now.
    pub fn used_up_for(&self, tenant: &str) -> Option<Duration> {
        let used = self.used.lock();
        let (began, _) = used.by_tenant.get(tenant).filter(|(_, used)| *used >= self.max)?;
        self.period.checked_sub(began.elapsed()).filter(|left| !left.is_zero())
    }

    /// Counts what a tenant has used.
    pub fn add(&self, tenant: &str, amount: u64) {
        let mut used = self.used.lock();
        let Used { by_tenant, cleanup_at } = &mut *used;
        if by_tenant.len() >= (*cleanup_at).max(CLEANUP_THRESHOLD) {
            by_tenant.retain(|_, (began, _)| began.elapsed() < self.period);
            *cleanup_at = by_tenant.len() * 2;
        }
        let (began, sum) = by_tenant.entry(tenant.to_owned()).or_insert_with(|| (Instant::now(), 0));
        if began.elapsed() >= self.period {
            (*began, *sum) = (Instant::now(), 0);
        }
        *sum = sum.saturating_add(amount);
    }
}

/// Permits that all tenants share. A tenant may hold only some of them, so that it leaves room for others. Permits are
/// issued in the order in which tenants got their turn: while one waits for a shared permit, each other tenant gets no
/// more of them than it may hold at once.
pub struct FairLimiter {
    shared: Arc<Semaphore>,
    tenants: TenantLimits,
}

/// A permit of a tenant, until this is dropped.
#[derive(Debug)]
pub struct FairPermit {
    _shared: OwnedSemaphorePermit,
    _turn: OwnedSemaphorePermit,
}

/// Why there was no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The tenant holds all permits that it may hold.
    Tenant,
    /// All permits are held.
    All,
}

impl Full {
    /// Returns 429 with one message if the caller's own requests are the reason, 503 with the other one if those of
    /// others are.
    pub fn error(self, of_tenant: &'static str, of_all: &'static str) -> Error {
        match self {
            Self::Tenant => Error::TenantBusy(of_tenant),
            Self::All => Error::Busy(of_all),
        }
    }
}

impl FairLimiter {
    /// Creates `all` permits, of which a tenant may hold `of_tenant`.
    pub fn new(all: usize, of_tenant: usize) -> Self {
        Self { shared: Arc::new(Semaphore::new(all)), tenants: TenantLimits::new(of_tenant) }
    }

    /// Creates a permit for each core, of which a tenant may hold half.
    pub fn of_cores() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self::new(cores, (cores / 2).max(1))
    }

    /// Waits for a permit, up to `wait` in all.
    ///
    /// # Errors
    /// If no permit became free in time.
    pub async fn acquire(&self, tenant: &str, wait: Duration) -> Result<FairPermit, Full> {
        let deadline = Instant::now() + wait;
        // The turn comes first, so that a tenant with many requests keeps few of them in the queue of all.
        let turn = self.acquire_turn(tenant, wait).await?;
        match timeout_at(deadline, self.shared.clone().acquire_owned()).await {
            Ok(Ok(shared)) => Ok(FairPermit { _shared: shared, _turn: turn }),
            _ => Err(Full::All),
        }
    }

    /// Returns a permit if one is free now.
    ///
    /// # Errors
    /// If none is free.
    pub fn try_acquire(&self, tenant: &str) -> Result<FairPermit, Full> {
        let turn = self.tenants.try_acquire(tenant).ok_or(Full::Tenant)?;
        let shared = self.shared.clone().try_acquire_owned().map_err(|_| Full::All)?;
        Ok(FairPermit { _shared: shared, _turn: turn })
    }

    /// Waits until the tenant may hold another permit. For work that takes a shared permit several times.
    ///
    /// # Errors
    /// If that takes longer than `wait`.
    pub async fn acquire_turn(&self, tenant: &str, wait: Duration) -> Result<OwnedSemaphorePermit, Full> {
        self.tenants.acquire(tenant, wait).await.ok_or(Full::Tenant)
    }

    /// Waits for a shared permit, for work that has its [turn](Self::acquire_turn).
    ///
    /// # Errors
    /// If that takes longer than `wait`.
    pub async fn acquire_shared(&self, wait: Duration) -> Result<OwnedSemaphorePermit, Full> {
        timeout(wait, self.shared.clone().acquire_owned()).await.ok().and_then(Result::ok).ok_or(Full::All)
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
    fn limits_what_a_tenant_uses_in_a_period() {
        let limits = PeriodLimits::new(10, Duration::from_millis(50));
        limits.add("a", 9);
        assert_eq!(limits.used_up_for("a"), None);
        limits.add("a", 1);
        assert!(limits.used_up_for("a").is_some_and(|left| left <= Duration::from_millis(50)));
        assert_eq!(limits.used_up_for("b"), None);
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(limits.used_up_for("a"), None);
        limits.add("a", 1);
        assert_eq!(limits.used_up_for("a"), None, "another period");
        for n in 0..=2 * CLEANUP_THRESHOLD {
            limits.add(&n.to_string(), 1);
        }
        std::thread::sleep(Duration::from_millis(60));
        for n in 0..=2 * CLEANUP_THRESHOLD {
            limits.add(&format!("later {n}"), 1);
        }
        assert!(limits.used.lock().by_tenant.len() <= 4 * CLEANUP_THRESHOLD);
        let none = PeriodLimits::hourly(0);
        none.add("a", u64::from(u32::MAX));
        assert!(none.check("a", "used up").is_ok());
    }

    #[test]
    fn a_tenant_leaves_permits_to_others() {
        testkit::block_on(async {
            let (limiter, soon) = (FairLimiter::new(4, 2), Duration::from_millis(20));
            let mut held = vec![limiter.try_acquire("a").unwrap(), limiter.acquire("a", soon).await.unwrap()];
            assert_eq!(limiter.acquire("a", soon).await.unwrap_err(), Full::Tenant);
            let others = [limiter.try_acquire("b").unwrap(), limiter.try_acquire("c").unwrap()];
            assert_eq!(limiter.acquire("d", soon).await.unwrap_err(), Full::All);
            assert_eq!(limiter.try_acquire("d").unwrap_err(), Full::All);
            held.pop();
            assert!(limiter.acquire("a", soon).await.is_ok());
            drop(others);
        });
    }

    #[test]
    fn tenants_take_turns() {
        testkit::block_on(async {
            let limiter = FairLimiter::new(1, 1);
            let order = Mutex::new(String::new());
            let request = async |tenant: &str| {
                let _permit = limiter.acquire(tenant, Duration::from_secs(60)).await.unwrap();
                tokio::task::yield_now().await;
                order.lock().push_str(tenant);
            };
            // One that leaves the queue does not delay the others.
            let left = tokio::time::timeout(Duration::from_millis(20), async {
                let _held = limiter.acquire("x", Duration::ZERO).await.unwrap();
                request("b").await;
            });
            assert!(left.await.is_err());
            tokio::join!(
                request("a"),
                request("a"),
                request("a"),
                request("a"),
                request("b"),
                request("c"),
                request("b")
            );
            let order = order.into_inner();
            assert!(order.starts_with("abc") && order.len() == 7, "{order}");
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
