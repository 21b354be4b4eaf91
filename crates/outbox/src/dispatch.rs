//! Delivery of due messages: one loop in each replica, and a task for each delivery. Replicas may share a database.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use common::traces::{Traces, in_context, mark_current_failed};
use common::{Error, FailureStreak, ServiceContext};
use database::{AnyConnection, Database, Timestamp};
use metrics::Histogram;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::claim::claim;
use super::metrics::OutboxMetrics;
use super::model::{Claimed, Failure, Outbox, Outcome, Try};
use super::slots::{HeldSlot, Slots};
use super::store::{self, PRUNE_BATCH_SIZE};

/// Number of attempts after which a message has failed.
const MAX_ATTEMPTS: i32 = 10;
/// Reason of an attempt whose outcome was not recorded before its lease ended.
const TIMEOUT: &str = "timeout";
/// Longest backoff between two attempts.
const MAX_BACKOFF: Duration = Duration::from_secs(8 * 3600);
/// Mean interval between two polls, which find messages that other replicas stored. [`Dispatcher::wake`] polls at
/// once.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Longest backoff while the database is unavailable. Deliveries resume within ten seconds of its return.
const MAX_ERROR_BACKOFF: Duration = Duration::from_secs(5);
/// Mean interval between two deletions of old messages.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);
/// Pause between two batches, in which others can write.
const BATCH_PAUSE: Duration = Duration::from_millis(50);

/// Delivers the messages of an outbox.
pub trait Channel: Send + Sync + 'static {
    /// The outbox.
    const OUTBOX: Outbox;
    /// The metrics of the outbox.
    const METRICS: OutboxMetrics;

    /// Attempts one delivery. Returns the status of the answer, if there is one.
    ///
    /// # Errors
    /// If the receiver did not acknowledge the message.
    fn deliver(&self, claimed: &Claimed) -> impl Future<Output = Result<Option<u16>, Failure>> + Send;

    /// Makes further changes in the transaction that records an outcome. There is no attempt if nothing was sent.
    ///
    /// # Errors
    /// If the database fails.
    fn record(
        _c: &mut AnyConnection,
        _claimed: &Claimed,
        _attempt: Option<&Try>,
        _outcome: &Outcome,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Logs a recorded outcome.
    fn report(&self, claimed: &Claimed, outcome: &Outcome);
}

/// The durations of deliveries.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryOptions {
    /// Time within which a receiver must respond.
    pub timeout: Duration,
    /// Backoff after the first failed attempt.
    pub first_backoff: Duration,
    /// Time after which delivered and failed messages are deleted.
    pub retention: Duration,
}

impl DeliveryOptions {
    /// Converts the values of settings.
    pub fn new(timeout_ms: u64, first_backoff_seconds: u64, retention_days: u32) -> Self {
        Self {
            timeout: Duration::from_millis(timeout_ms),
            first_backoff: Duration::from_secs(first_backoff_seconds),
            retention: Duration::from_secs(u64::from(retention_days) * 24 * 3600),
        }
    }
}

/// Delivers the messages of an outbox.
pub struct Dispatcher<C> {
    db: Database,
    channel: C,
    /// Notified when a message may be due.
    wake: Arc<Notify>,
    slots: Arc<Slots>,
    /// Set when no more deliveries may start.
    stopping: AtomicBool,
    /// Duration of a claim.
    lease: Duration,
    /// Backoff after the first failed attempt.
    first_backoff: Duration,
    retention: Duration,
    delivery_seconds: Histogram,
    traces: Traces,
    thread: DeliveryThread,
}

/// A thread that runs deliveries apart from other background work. It ends when this is dropped.
struct DeliveryThread {
    runtime: Handle,
    _stop: oneshot::Sender<()>,
}

impl DeliveryThread {
    fn start(name: &str) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a thread")?;
        let (stop, stopped) = oneshot::channel();
        let handle = runtime.handle().clone();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || runtime.block_on(stopped))?;
        Ok(Self { runtime: handle, _stop: stop })
    }
}

impl<C: Channel> Dispatcher<C> {
    /// Creates a dispatcher with this channel.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(channel: C, options: DeliveryOptions, context: &ServiceContext) -> anyhow::Result<Self> {
        let wake = Arc::new(Notify::new());
        Ok(Self {
            db: context.db.clone(),
            channel,
            slots: Arc::new(Slots::new(wake.clone())),
            wake,
            stopping: AtomicBool::new(false),
            // One timeout for the delivery, the rest for claiming and recording on a slow database.
            lease: 2 * options.timeout + Duration::from_secs(1),
            first_backoff: options.first_backoff,
            retention: options.retention,
            delivery_seconds: C::METRICS.delivery_seconds(),
            traces: context.traces.clone(),
            thread: DeliveryThread::start("deliveries")?,
        })
    }

    /// Delivers messages, deletes old ones and updates the gauges for as long as the service runs.
    pub async fn run(self: Arc<Self>) {
        let Self { db, retention, thread, .. } = &*self;
        let mut deliveries = JoinSet::new();
        deliveries.spawn_on(self.clone().deliver_due(), &thread.runtime);
        tokio::join!(
            deliveries.join_all(),
            C::METRICS.report_backlog(db, &C::OUTBOX),
            prune_periodically(db, &C::OUTBOX, &C::METRICS, *retention),
        );
    }

    /// Makes the delivery loop look for due messages now. Call it after the commit that stores one.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Starts no more deliveries and waits until the running ones are recorded.
    pub async fn finish(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.slots.drain().await;
    }

    /// Delivers messages for as long as the service runs, also across failures of the database.
    async fn deliver_due(self: Arc<Self>) {
        let mut deliveries = JoinSet::new();
        let mut last_backoff: Option<Duration> = None;
        loop {
            match self.start_due(&mut deliveries).await {
                Ok(idle) => {
                    if last_backoff.take().is_some() {
                        tracing::info!("{} are delivered again", C::OUTBOX.plural);
                    }
                    tokio::select! {
                        () = self.wake.notified() => {}
                        () = sleep(idle) => {}
                    }
                }
                Err(error) => {
                    if last_backoff.is_none() {
                        tracing::warn!(
                            error = format!("{error:?}"),
                            "{} are delayed: the database is unavailable",
                            C::OUTBOX.plural
                        );
                    }
                    let backoff =
                        last_backoff.map_or(POLL_INTERVAL, |last| (2 * last).min(MAX_ERROR_BACKOFF));
                    last_backoff = Some(backoff);
                    sleep(with_jitter(backoff)).await;
                }
            }
        }
    }

    /// Starts the deliveries of all due messages, as slots become free. Returns the time until the next poll.
    async fn start_due(self: &Arc<Self>, deliveries: &mut JoinSet<()>) -> Result<Duration, Error> {
        loop {
            let mut permits = self.slots.acquire_free().await?;
            if self.stopping.load(Ordering::Relaxed) {
                return Ok(MAX_ERROR_BACKOFF);
            }
            // Drops the results of finished deliveries.
            while deliveries.try_join_next().is_some() {}
            match self.db.read(|c| store::next_due_in(c, &C::OUTBOX)).await? {
                None => return Ok(with_jitter(POLL_INTERVAL)),
                Some(wait) if !wait.is_zero() => return Ok(wait.min(with_jitter(POLL_INTERVAL))),
                Some(_) => {}
            }
            let request = self.slots.claim_request(permits.num_permits(), self.lease);
            let lease_end = Instant::now() + self.lease;
            let claimed = self.db.write(move |c| claim(c, &C::OUTBOX, &request)).await?;
            if claimed.is_empty() {
                // Another replica claimed them, or they belong to groups that hold all their slots.
                return Ok(with_jitter(POLL_INTERVAL));
            }
            for message in claimed {
                let slot = self.slots.hold(&message, permits.split(1));
                let trace = self.traces.begin_background(C::OUTBOX.trace);
                deliveries.spawn(in_context(trace, self.clone().attempt(message, lease_end, slot)));
            }
        }
    }

    /// Delivers a message before its lease ends and records the outcome.
    async fn attempt(self: Arc<Self>, claimed: Claimed, lease_end: Instant, _slot: HeldSlot) {
        let (at, started) = (Timestamp::now(), Instant::now());
        let result = self.deliver(&claimed, lease_end).await;
        let duration = started.elapsed();
        self.delivery_seconds.record(duration.as_secs_f64());
        let attempt = (claimed.attempts <= MAX_ATTEMPTS).then(|| attempt(at, duration, &result)).flatten();
        if result.is_err() {
            mark_current_failed("not_delivered");
        }
        let outcome = match result {
            Ok(_) => Outcome::Delivered,
            Err(Failure::Retry { reason, after }) if claimed.attempts < MAX_ATTEMPTS => {
                let backoff = after.unwrap_or_else(|| backoff(claimed.attempts, self.first_backoff));
                Outcome::Retry { backoff, reason }
            }
            Err(Failure::Retry { reason, .. } | Failure::Final(reason)) => Outcome::Failed(reason),
        };
        self.record(claimed, attempt, outcome).await;
    }

    async fn deliver(&self, claimed: &Claimed, lease_end: Instant) -> Result<Option<u16>, Failure> {
        if claimed.attempts > MAX_ATTEMPTS {
            // The service died during the last attempt.
            return Err(Failure::Final(TIMEOUT.to_owned()));
        }
        let delivery = timeout_at(lease_end, self.channel.deliver(claimed)).await;
        delivery.unwrap_or_else(|_| Err(Failure::Retry { reason: TIMEOUT.to_owned(), after: None }))
    }

    async fn record(&self, claimed: Claimed, attempt: Option<Try>, outcome: Outcome) {
        let row = (claimed.clone(), outcome.clone());
        let record = move |c: &mut _| {
            let is_valid = store::record(c, &C::OUTBOX, &row.0, &row.1)?;
            if is_valid {
                C::record(c, &row.0, attempt.as_ref(), &row.1)?;
            }
            Ok(is_valid)
        };
        match self.db.write(record).await {
            Ok(true) => {
                // Attempts without a record are repeated, and count then.
                self.channel.report(&claimed, &outcome);
                C::METRICS.count(&claimed.event, &outcome);
                // The backoff may be shorter than the poll interval.
                if matches!(outcome, Outcome::Retry { .. }) {
                    self.wake();
                }
            }
            Ok(false) => {
                tracing::info!(
                    id = %claimed.id,
                    "the outcome is void: the {} was redelivered or claimed again meanwhile", C::OUTBOX.name
                );
                self.wake();
            }
            Err(error) => {
                let error: Error = error;
                tracing::warn!(
                    id = %claimed.id, error = format!("{error:?}"),
                    "the outcome of a delivery could not be recorded: the delivery is repeated"
                );
            }
        }
    }
}

/// Returns an attempt with this result; `None` if nothing was sent.
fn attempt(at: Timestamp, duration: Duration, result: &Result<Option<u16>, Failure>) -> Option<Try> {
    let (status, error) = match result {
        Ok(status) => (*status, None),
        Err(Failure::Final(reason)) if reason.is_empty() => return None,
        Err(Failure::Retry { reason, .. } | Failure::Final(reason)) => {
            (reason.strip_prefix("status ").and_then(|status| status.parse().ok()), Some(reason.clone()))
        }
    };
    let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Some(Try { at, duration_ms, status, error })
}

/// Varies a duration by up to a fifth, so that replicas do not act at the same time.
fn with_jitter(duration: Duration) -> Duration {
    duration.mul_f64(rand::random_range(0.8..1.2))
}

/// Returns the backoff after this many failed attempts: `first` after one, tripled for each further one, of which a
/// random part up to a half is left out, so that messages that failed together are not retried together.
fn backoff(attempts: i32, first: Duration) -> Duration {
    let factor = 3_u32.saturating_pow(u32::try_from(attempts - 1).unwrap_or_default());
    let longest = first.saturating_mul(factor).min(MAX_BACKOFF);
    longest.mul_f64(rand::random_range(0.5..=1.0))
}

/// Deletes messages that were delivered or failed longer ago than `retention`, for as long as the service runs. Several
/// replicas may do so at once.
async fn prune_periodically(
    db: &Database,
    outbox: &'static Outbox,
    metrics: &OutboxMetrics,
    retention: Duration,
) {
    let mut failures = FailureStreak::default();
    loop {
        if let Some(error) = failures.first(&prune(db, outbox, metrics, retention).await) {
            tracing::warn!(error = format!("{error:?}"), "old {} could not be deleted", outbox.plural);
        }
        sleep(PRUNE_INTERVAL.mul_f64(rand::random_range(0.8..1.2))).await;
    }
}

async fn prune(
    db: &Database,
    outbox: &'static Outbox,
    metrics: &OutboxMetrics,
    retention: Duration,
) -> Result<(), Error> {
    loop {
        let count = db.write(move |c| store::prune(c, outbox, retention)).await?;
        metrics.pruned().increment(count as u64);
        if count < PRUNE_BATCH_SIZE as usize {
            return Ok(());
        }
        sleep(BATCH_PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_triples_up_to_eight_hours_with_jitter() {
        let first = Duration::from_secs(15);
        for (attempts, longest) in
            [(1, 15), (2, 45), (5, 1215), (8, 8 * 3600), (9, 8 * 3600), (i32::MAX, 8 * 3600)]
        {
            for _ in 0..100 {
                let seconds = backoff(attempts, first).as_secs_f64();
                let range = f64::from(longest) / 2.0..=f64::from(longest);
                assert!(range.contains(&seconds), "{attempts}: {seconds}");
            }
        }
        assert_ne!(backoff(9, first), backoff(9, first));
        assert_eq!(backoff(9, Duration::ZERO), Duration::ZERO);
    }
}
