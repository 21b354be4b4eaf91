//! One attempt to deliver a claimed notification.

use std::sync::Arc;

use common::traces::mark_current_failed;
use tokio::time::{Instant, timeout_at};

use super::Dispatcher;
use super::backoff::{MAX_ATTEMPTS, backoff};
use super::slots::HeldSlot;
use crate::notifications::metrics::deliveries;
use crate::notifications::model::{Claimed, Outcome};
use crate::notifications::store;

impl Dispatcher {
    /// Delivers a notification before its lease ends and records the outcome.
    pub(super) async fn attempt(self: Arc<Self>, claimed: Claimed, lease_end: Instant, _slot: HeldSlot) {
        let started = Instant::now();
        let result = self.deliver(&claimed, lease_end).await;
        self.delivery_seconds.record(started.elapsed().as_secs_f64());
        if result.is_err() {
            mark_current_failed("not_delivered");
        }
        let outcome = match result {
            Ok(()) => Outcome::Delivered,
            Err(reason) if claimed.attempts < MAX_ATTEMPTS => {
                Outcome::Retry { backoff: backoff(claimed.attempts, self.first_backoff), reason }
            }
            Err(reason) => Outcome::Failed(reason),
        };
        self.record(claimed, outcome).await;
    }

    async fn deliver(&self, claimed: &Claimed, lease_end: Instant) -> Result<(), String> {
        if claimed.attempts > MAX_ATTEMPTS {
            return Err("the service died during the last attempt".into());
        }
        let delivery = timeout_at(lease_end, self.channel.deliver(claimed)).await;
        delivery.unwrap_or_else(|_| Err("the lease ended before the delivery".into()))
    }

    async fn record(&self, claimed: Claimed, outcome: Outcome) {
        let row = (claimed.clone(), outcome.clone());
        match self.db.write(move |c| store::record(c, &row.0, &row.1)).await {
            Ok(true) => {
                report(&claimed, &outcome);
                // The backoff may be shorter than the poll interval.
                if matches!(outcome, Outcome::Retry { .. }) {
                    self.wake();
                }
            }
            Ok(false) => {
                tracing::info!(
                    notification = %claimed.id,
                    "the outcome is void: the notification was redelivered or claimed again meanwhile"
                );
                self.wake();
            }
            Err(error) => tracing::warn!(
                notification = %claimed.id, error = format!("{error:?}"),
                "the outcome of a delivery could not be recorded: the delivery is repeated"
            ),
        }
    }
}

/// Logs and counts a recorded outcome. Attempts without a record are repeated, and count then.
fn report(claimed: &Claimed, outcome: &Outcome) {
    let Claimed { id, load_id, event, attempts, .. } = claimed;
    let outcome = match outcome {
        Outcome::Delivered => "delivered",
        Outcome::Retry { reason, .. } => {
            tracing::warn!(notification = %id, load = %load_id, attempts, reason, "a notification was not delivered");
            "retried"
        }
        Outcome::Failed(reason) => {
            tracing::error!(
                notification = %id, load = %load_id, attempts, reason,
                "a notification has failed: retry it with `logistics redeliver {id}`"
            );
            "failed"
        }
    };
    deliveries(event, outcome).increment(1);
}
