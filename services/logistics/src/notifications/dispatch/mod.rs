//! Delivery of due notifications: one loop in each replica, and a task for each delivery. Replicas may share a
//! database.

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
use super::metrics::delivery_seconds;
use super::webhook::Channel;
use crate::Settings;

/// Delivers notifications.
pub(crate) struct Dispatcher {
    db: Database,
    channel: Channel,
    /// Notified when a notification may be due.
    wake: Arc<Notify>,
    slots: Arc<Slots>,
    /// Set when no more deliveries may start.
    stopping: AtomicBool,
    /// Duration of a claim.
    lease: Duration,
    /// Backoff after the first failed attempt.
    first_backoff: Duration,
    delivery_seconds: Histogram,
    traces: Traces,
}

impl Dispatcher {
    /// Creates a dispatcher with the channel and the durations of the settings.
    ///
    /// # Errors
    /// As [`Channel::open`].
    pub(crate) fn open(settings: &Settings, context: &ServiceContext) -> anyhow::Result<Self> {
        let wake = Arc::new(Notify::new());
        Ok(Self {
            db: context.db.clone(),
            channel: Channel::open(settings)?,
            slots: Arc::new(Slots::new(wake.clone())),
            wake,
            stopping: AtomicBool::new(false),
            // One timeout for the delivery, the rest for claiming and recording on a slow database.
            lease: 2 * settings.webhook_timeout() + Duration::from_secs(1),
            first_backoff: Duration::from_secs(settings.webhook_retry_seconds),
            delivery_seconds: delivery_seconds(),
            traces: context.traces.clone(),
        })
    }

    /// Makes the delivery loop look for due notifications now. Call it after the commit that stores one.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Starts no more deliveries and waits until the running ones are recorded.
    pub(crate) async fn finish(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.slots.drain().await;
    }
}
