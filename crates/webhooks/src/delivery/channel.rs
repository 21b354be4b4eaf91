//! The channel of deliveries: each to the URL of its webhook.

use common::Error;
use database::{AnyConnection, Database};
use http::StatusCode;
use outbox::{Channel, Claimed, Failure, Outbox, OutboxMetrics, Outcome, Try};
use url::Url;

use super::store;
use crate::sending::{Message, SendError, Sender, SigningKeys, check_url};
use crate::webhook;

/// The answer with which a receiver ends its webhook.
const GONE: SendError = SendError::Status(StatusCode::GONE, None);

/// The receivers of webhooks.
pub(crate) struct Receivers {
    db: Database,
    sender: Sender,
    allow_private: bool,
}

impl Receivers {
    /// Creates the channel.
    pub(crate) fn new(db: Database, sender: Sender, allow_private: bool) -> Self {
        Self { db, sender, allow_private }
    }
}

impl Channel for Receivers {
    const OUTBOX: Outbox = Outbox {
        name: "webhook delivery",
        plural: "webhook deliveries",
        trace: "deliver webhook",
        table: "webhook_deliveries",
        group: "webhook_id",
        join: "JOIN webhooks ON webhooks.id = turns.key AND webhooks.status = 'active'",
        owner: "webhooks.organisation_id",
        max_slots: "CASE WHEN webhooks.failing_since IS NULL THEN 8 ELSE 1 END",
        cause: Some("cause_id"),
        bodies: Some(store::bodies),
        on_redelivery: "",
    };
    const METRICS: OutboxMetrics = OutboxMetrics {
        deliveries: "drover_webhooks_deliveries_total",
        delivery_seconds: "drover_webhooks_delivery_seconds",
        pending: "drover_webhooks_pending",
        oldest_pending_seconds: "drover_webhooks_oldest_pending_seconds",
        pruned: "drover_webhooks_pruned_total",
    };

    async fn deliver(&self, claimed: &Claimed) -> Result<Option<u16>, Failure> {
        if claimed.body.0.is_empty() {
            // It was deleted.
            return Err(Failure::Final(String::new()));
        }
        let id = claimed.group.clone();
        let receiver = self.db.read(move |c| webhook::store::receiver(c, &id)).await;
        let receiver = receiver.map_err(|_| SendError::Timeout)?;
        let receiver = receiver.ok_or_else(|| Failure::Final(String::new()))?;
        let url: Option<Url> = receiver.url.parse().ok();
        // The settings may have changed since the webhook was created.
        let url = url.filter(|url| check_url(url, self.allow_private).is_ok());
        let url = url.ok_or(SendError::Name)?;
        let keys = SigningKeys::of(&receiver.secrets);
        let webhook_id = Some(claimed.group.as_str());
        let message = Message { id: claimed.id, webhook_id, body: claimed.body.0.clone() };
        match self.sender.post(&url, &keys, message).await {
            Err(error @ SendError::Status(StatusCode::GONE, _)) => Err(Failure::Final(error.reason())),
            result => Ok(Some(result?.as_u16())),
        }
    }

    fn record(
        c: &mut AnyConnection,
        claimed: &Claimed,
        attempt: Option<&Try>,
        outcome: &Outcome,
    ) -> Result<(), Error> {
        if let Some(attempt) = attempt {
            store::add_try(c, &claimed.group, claimed.id, attempt)?;
        }
        let reason = match outcome {
            Outcome::Delivered => return webhook::store::note_success(c, &claimed.group),
            Outcome::Failed(reason) if reason.is_empty() => return Ok(()),
            Outcome::Retry { reason, .. } | Outcome::Failed(reason) => reason,
        };
        let is_disabled = if *reason == GONE.reason() {
            let reason = "The receiver answered 410 Gone: it wants no more events.";
            webhook::store::disable(c, &claimed.group, reason)?;
            true
        } else {
            webhook::store::note_failure(c, &claimed.group, reason)?
        };
        if is_disabled {
            store::fail_pending(c, &claimed.group)?;
        }
        Ok(())
    }

    fn report(&self, claimed: &Claimed, outcome: &Outcome) {
        let Claimed { id, group, attempts, .. } = claimed;
        match outcome {
            Outcome::Delivered => {}
            // Organisations see these in the delivery log. A receiver that is down must not fill the log.
            Outcome::Retry { reason, .. } => {
                tracing::debug!(delivery = %id, webhook = group, attempts, reason, "an event was not delivered");
            }
            Outcome::Failed(reason) => {
                tracing::info!(delivery = %id, webhook = group, attempts, reason, "a delivery has failed");
            }
        }
    }
}
