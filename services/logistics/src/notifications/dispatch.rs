//! Delivering what is due: one task in each process, which several replicas may run over one database.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::traces::{Traces, failed_here, within};
use common::{Context, Error};
use database::Database;
use metrics::Histogram;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::claim::ClaimRequest;
use super::claim::store::{Claimed, claim};
use super::model::{MAX_ATTEMPTS, pause};
use super::store::{self, Outcome};
use super::webhook::Channel;
use crate::Settings;
use crate::metrics::{deliveries, delivery_seconds, oldest_pending, pending};

/// So many deliveries run at once.
const MAX_CONCURRENT_DELIVERIES: u32 = 32;
/// And so many of one organisation: a receiver that hangs for it leaves the others their slots.
const MAX_SLOTS_OF_ONE: usize = 16;
/// How long nobody looks, unless woken: for what other replicas recorded and what is to be tried again.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often it is counted what is pending.
const METRICS_INTERVAL: Duration = Duration::from_secs(5);
/// The longest pause while the database is out of reach: ten seconds after its return all is well.
const MAX_ERROR_PAUSE: Duration = Duration::from_secs(5);

/// Delivers notifications.
pub struct Dispatcher {
    pub(super) db: Database,
    channel: Channel,
    wake: Notify,
    /// The right to deliver, a permit each.
    slots: Arc<Semaphore>,
    rotation: Mutex<OrganisationRotation>,
    /// Nothing more is begun.
    stopping: AtomicBool,
    lease: Duration,
    /// The pause after the first try in vain.
    base: Duration,
    /// How long delivered and failed ones are kept.
    pub(super) retention: Duration,
    seconds: Histogram,
    traces: Traces,
}

/// Which organisation is next.
#[derive(Debug, Default)]
struct OrganisationRotation {
    /// The slots that organisations hold.
    in_flight: HashMap<String, usize>,
    /// The organisation whose turn was last.
    last: String,
}

/// A slot that an organisation holds, given back when this is dropped.
struct HeldSlot {
    dispatcher: Arc<Dispatcher>,
    organisation_id: String,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for HeldSlot {
    fn drop(&mut self) {
        let mut rotation = self.dispatcher.rotation();
        let Some(held) = rotation.in_flight.get_mut(&self.organisation_id) else { return };
        *held -= 1;
        // What is due of this organisation waits for a slot of its own.
        let was_full = *held + 1 >= MAX_SLOTS_OF_ONE;
        if *held == 0 {
            rotation.in_flight.remove(&self.organisation_id);
        }
        drop(rotation);
        if was_full {
            self.dispatcher.wake();
        }
    }
}

impl Dispatcher {
    /// As the settings say.
    ///
    /// # Errors
    /// As [`Channel::open`].
    pub fn open(settings: &Settings, context: &Context) -> anyhow::Result<Self> {
        Ok(Self {
            db: context.db.clone(),
            channel: Channel::open(settings)?,
            wake: Notify::new(),
            slots: Arc::new(Semaphore::new(MAX_CONCURRENT_DELIVERIES as usize)),
            rotation: Mutex::default(),
            stopping: AtomicBool::new(false),
            // As long again for claiming and recording, where the database is slow.
            lease: 2 * settings.webhook_timeout() + Duration::from_secs(1),
            base: Duration::from_secs(settings.webhook_retry_seconds),
            retention: settings.notification_retention(),
            seconds: delivery_seconds(),
            traces: context.traces.clone(),
        })
    }

    /// Says that something is due; to be called once it is committed.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Begins no more deliveries and waits for those that run, until they are recorded.
    pub async fn finish(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Ok(all) = self.slots.acquire_many(MAX_CONCURRENT_DELIVERIES).await {
            all.forget();
        }
    }

    /// Delivers for as long as the service runs, whatever becomes of the database.
    pub async fn run(self: Arc<Self>) {
        let mut deliveries = JoinSet::new();
        let mut trouble: Option<Duration> = None;
        loop {
            match self.deliver_due(&mut deliveries).await {
                Ok(wait) => {
                    if trouble.take().is_some() {
                        tracing::info!("notifications are delivered again");
                    }
                    tokio::select! {
                        () = self.wake.notified() => {}
                        () = sleep(wait) => {}
                    }
                }
                Err(error) => {
                    if trouble.is_none() {
                        tracing::warn!(
                            error = format!("{error:?}"),
                            "notifications have to wait for the database"
                        );
                    }
                    let wait = trouble.map_or(POLL_INTERVAL, |last| (2 * last).min(MAX_ERROR_PAUSE));
                    trouble = Some(wait);
                    sleep(wait.mul_f64(rand::random_range(0.8..1.2))).await;
                }
            }
        }
    }

    /// Shows what is pending, also where another replica delivers it or nobody can: while the database is out of reach,
    /// what was pending then grows older.
    pub async fn measure(&self) {
        let (pending, oldest) = (pending(), oldest_pending());
        let mut since: Option<Instant> = None;
        loop {
            if let Ok(backlog) = self.db.read(store::backlog).await {
                since = backlog.oldest.and_then(|age| Instant::now().checked_sub(age));
                #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
                pending.set(backlog.pending as f64);
            }
            oldest.set(since.map_or(0.0, |since| since.elapsed().as_secs_f64()));
            sleep(METRICS_INTERVAL).await;
        }
    }

    /// Begins to deliver all that is due, as slots become free. Returns how long there is nothing more to do.
    async fn deliver_due(self: &Arc<Self>, deliveries: &mut JoinSet<()>) -> Result<Duration, Error> {
        let idle = || POLL_INTERVAL.mul_f64(rand::random_range(0.8..1.2));
        loop {
            let mut slots = self.free_slots().await?;
            if self.stopping.load(Ordering::Relaxed) {
                return Ok(MAX_ERROR_PAUSE);
            }
            while deliveries.try_join_next().is_some() {}
            match self.db.read(store::look).await? {
                None => return Ok(idle()),
                Some(wait) if !wait.is_zero() => return Ok(wait.min(idle())),
                Some(_) => {}
            }
            let request = self.claim_request(slots.num_permits());
            let expires = Instant::now() + self.lease;
            let claimed = self.db.write(move |c| claim(c, &request)).await?;
            if claimed.is_empty() {
                // Another replica was faster, or all that is due belongs to organisations that hold all their slots.
                return Ok(idle());
            }
            for claim in claimed {
                let slot = self.held_slot(&claim, slots.split(1));
                let work = self.traces.background("deliver notification");
                deliveries.spawn(within(work, self.clone().attempt(claim, expires, slot)));
            }
        }
    }

    fn rotation(&self) -> MutexGuard<'_, OrganisationRotation> {
        self.rotation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim_request(&self, slots: usize) -> ClaimRequest {
        let rotation = self.rotation();
        let (in_flight, last) = (rotation.in_flight.clone(), rotation.last.clone());
        ClaimRequest { slots, max_slots_of_one: MAX_SLOTS_OF_ONE, in_flight, last, lease: self.lease }
    }

    /// Counts a claimed notification as its organisation's, whose turn this was.
    fn held_slot(self: &Arc<Self>, claimed: &Claimed, permit: Option<OwnedSemaphorePermit>) -> HeldSlot {
        let organisation_id = claimed.organisation_id.clone();
        let mut rotation = self.rotation();
        *rotation.in_flight.entry(organisation_id.clone()).or_default() += 1;
        rotation.last.clone_from(&organisation_id);
        drop(rotation);
        HeldSlot { dispatcher: self.clone(), organisation_id, _permit: permit }
    }

    /// All that are free, once one is.
    async fn free_slots(&self) -> Result<OwnedSemaphorePermit, Error> {
        let closed = |_| Error::Internal(anyhow::anyhow!("the slots were closed"));
        let mut slots = self.slots.clone().acquire_owned().await.map_err(closed)?;
        while let Ok(another) = self.slots.clone().try_acquire_owned() {
            slots.merge(another);
        }
        Ok(slots)
    }

    /// Delivers one, within the lease, and records how that went.
    async fn attempt(self: Arc<Self>, claimed: Claimed, expires: Instant, _slot: HeldSlot) {
        let started = Instant::now();
        let delivered = if claimed.attempts > MAX_ATTEMPTS {
            Ok(Err("whoever tried it for the last time died".into()))
        } else {
            timeout_at(expires, self.channel.deliver(&claimed)).await
        };
        self.seconds.record(started.elapsed().as_secs_f64());
        let delivered = delivered.unwrap_or_else(|_| Err("there was no time left".into()));
        if delivered.is_err() {
            failed_here("not_delivered");
        }
        let outcome = match delivered {
            Ok(()) => Outcome::Delivered,
            Err(why) if claimed.attempts < MAX_ATTEMPTS => {
                Outcome::Retried(pause(claimed.attempts, self.base), why)
            }
            Err(why) => Outcome::Failed(why),
        };
        let (id, recorded) = (claimed.id, (claimed.clone(), outcome.clone()));
        match self.db.write(move |c| store::record(c, &recorded.0, &recorded.1)).await {
            Ok(true) => {
                tell(&claimed, &outcome);
                // The pause may be a short one.
                if matches!(outcome, Outcome::Retried(..)) {
                    self.wake();
                }
            }
            Ok(false) => {
                tracing::info!(notification = %id, "was claimed or redelivered in between");
                self.wake();
            }
            Err(error) => tracing::warn!(
                notification = %id, error = format!("{error:?}"), "how a delivery went was not recorded: it is repeated"
            ),
        }
    }
}

/// Logs and counts how a delivery went, once it is recorded: one that is not is repeated.
fn tell(claimed: &Claimed, outcome: &Outcome) {
    let Claimed { id, load_id, event, attempts, .. } = claimed;
    let outcome = match outcome {
        Outcome::Delivered => "delivered",
        Outcome::Retried(_, why) => {
            tracing::warn!(notification = %id, load = %load_id, attempts, why, "a notification was not delivered");
            "retried"
        }
        Outcome::Failed(why) => {
            tracing::error!(
                notification = %id, load = %load_id, attempts, why,
                "a notification has failed for good: logistics redeliver {id} tries it again"
            );
            "failed"
        }
    };
    deliveries(event, outcome).increment(1);
}
