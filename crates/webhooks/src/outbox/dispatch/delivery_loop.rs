//! The loop that claims due messages and starts their deliveries.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::Error;
use common::traces::in_context;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::Dispatcher;
use crate::outbox::channel::Channel;
use crate::outbox::{claim, store};

/// Mean interval between two polls, which find messages that other replicas stored. [`Dispatcher::wake`] polls at
/// once.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Longest backoff while the database is unavailable. Deliveries resume within ten seconds of its return.
const MAX_ERROR_BACKOFF: Duration = Duration::from_secs(5);

impl<C: Channel> Dispatcher<C> {
    /// Delivers messages for as long as the service runs, also across failures of the database.
    pub(super) async fn deliver_due(self: Arc<Self>) {
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
            let claimed = self.db.write(move |c| claim::store::claim(c, &C::OUTBOX, &request)).await?;
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
}

/// Varies a duration by up to a fifth, so that replicas do not act at the same time.
fn with_jitter(duration: Duration) -> Duration {
    duration.mul_f64(rand::random_range(0.8..1.2))
}
