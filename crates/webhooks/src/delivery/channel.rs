//! The channel of deliveries: each to the URL of its webhook.

use common::Error;
use database::{AnyConnection, Database};
use url::Url;

use super::store;
use crate::outbox::{Channel, Claimed, Failure, Outbox, OutboxMetrics, Outcome};
use crate::sending::{Sender, SigningKeys, check_url};
use crate::webhook::{self, DISABLED_REASON};

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
        on_redelivery: "",
    };
    const METRICS: OutboxMetrics = OutboxMetrics {
        deliveries: "drover_webhooks_deliveries_total",
        delivery_seconds: "drover_webhooks_delivery_seconds",
        pending: "drover_webhooks_pending",
        oldest_pending_seconds: "drover_webhooks_oldest_pending_seconds",
        pruned: "drover_webhooks_pruned_total",
    };

    async fn deliver(&self, claimed: &Claimed) -> Result<(), Failure> {
        let id = claimed.group.clone();
        let receiver = self.db.read(move |c| webhook::store::receiver(c, &id)).await;
        let receiver = receiver.map_err(|_| Failure::Retry("the database is unavailable".into()))?;
        let receiver = receiver.ok_or_else(|| Failure::Final(DISABLED_REASON.into()))?;
        let url: Option<Url> = receiver.url.parse().ok();
        // The settings may have changed since the webhook was created.
        let url = url.filter(|url| check_url(url, self.allow_private).is_ok());
        let url = url.ok_or_else(|| Failure::Retry("the settings do not allow the URL".into()))?;
        let keys = SigningKeys::of(&receiver.secrets);
        self.sender.post(&url, &keys, claimed.id, claimed.body.0.clone()).await.map_err(Failure::Retry)
    }

    fn record(c: &mut AnyConnection, claimed: &Claimed, outcome: &Outcome) -> Result<(), Error> {
        match outcome {
            Outcome::Delivered => webhook::store::note_success(c, &claimed.group),
            Outcome::Retry { reason, .. } | Outcome::Failed(reason) => {
                if webhook::store::note_failure(c, &claimed.group, reason)? {
                    store::fail_pending(c, &claimed.group, DISABLED_REASON, 0)?;
                }
                Ok(())
            }
        }
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
