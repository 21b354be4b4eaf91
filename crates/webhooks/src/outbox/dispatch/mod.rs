//! Delivery of due messages: one loop in each replica, and a task for each delivery. Replicas may share a database.

mod attempt;
mod backoff;
mod delivery_loop;
mod slots;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::ServiceContext;
use common::traces::Traces;
use database::Database;
use metrics::Histogram;
use tokio::sync::Notify;

use self::slots::Slots;
use super::channel::Channel;
use super::prune::prune_periodically;

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
}

impl<C: Channel> Dispatcher<C> {
    /// Creates a dispatcher with this channel.
    pub fn new(channel: C, options: DeliveryOptions, context: &ServiceContext) -> Self {
        let wake = Arc::new(Notify::new());
        Self {
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
        }
    }

    /// Delivers messages, deletes old ones and updates the gauges for as long as the service runs.
    pub async fn run(self: Arc<Self>) {
        let Self { db, retention, .. } = &*self;
        tokio::join!(
            self.clone().deliver_due(),
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
}
