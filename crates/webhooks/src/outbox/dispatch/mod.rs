//! Delivery of due messages: one loop in each replica, and a task for each delivery. Replicas may share a database.

mod attempt;
mod backoff;
mod delivery_loop;
mod slots;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use common::ServiceContext;
use common::traces::Traces;
use database::Database;
use metrics::Histogram;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

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
}
