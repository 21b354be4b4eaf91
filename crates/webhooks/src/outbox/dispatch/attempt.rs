//! One attempt to deliver a claimed message.

use std::sync::Arc;

use common::traces::mark_current_failed;
use tokio::time::{Instant, timeout_at};

use super::Dispatcher;
use super::backoff::{MAX_ATTEMPTS, backoff};
use super::slots::HeldSlot;
use crate::outbox::channel::Channel;
use crate::outbox::model::{Claimed, Failure, Outcome};
use crate::outbox::store;
use crate::sending::SendError;

impl<C: Channel> Dispatcher<C> {
    /// Delivers a message before its lease ends and records the outcome.
    pub(super) async fn attempt(self: Arc<Self>, claimed: Claimed, lease_end: Instant, _slot: HeldSlot) {
        let started = Instant::now();
        let result = self.deliver(&claimed, lease_end).await;
        self.delivery_seconds.record(started.elapsed().as_secs_f64());
        if result.is_err() {
            mark_current_failed("not_delivered");
        }
        let outcome = match result {
            Ok(()) => Outcome::Delivered,
            Err(Failure::Retry { reason, after }) if claimed.attempts < MAX_ATTEMPTS => {
                let backoff = after.unwrap_or_else(|| backoff(claimed.attempts, self.first_backoff));
                Outcome::Retry { backoff, reason }
            }
            Err(Failure::Retry { reason, .. } | Failure::Final(reason)) => Outcome::Failed(reason),
        };
        self.record(claimed, outcome).await;
    }

    async fn deliver(&self, claimed: &Claimed, lease_end: Instant) -> Result<(), Failure> {
        if claimed.attempts > MAX_ATTEMPTS {
            // The service died during the last attempt.
            return Err(Failure::Final(SendError::Timeout.reason()));
        }
        let delivery = timeout_at(lease_end, self.channel.deliver(claimed)).await;
        delivery.unwrap_or_else(|_| Err(SendError::Timeout.into()))
    }

    async fn record(&self, claimed: Claimed, outcome: Outcome) {
        let row = (claimed.clone(), outcome.clone());
        let record = move |c: &mut _| {
            let is_valid = store::record(c, &C::OUTBOX, &row.0, &row.1)?;
            if is_valid {
                C::record(c, &row.0, &row.1)?;
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
                let error: common::Error = error;
                tracing::warn!(
                    id = %claimed.id, error = format!("{error:?}"),
                    "the outcome of a delivery could not be recorded: the delivery is repeated"
                );
            }
        }
    }
}
