//! Delivery channels of notifications: the configured webhook, or the log without one.

use anyhow::ensure;
use database::Json;
use outbox::{Claimed, Failure, Outbox, OutboxMetrics, Outcome};
use serde::Deserialize;
use serde::de::IgnoredAny;
use strum::VariantNames;
use url::Url;
use webhooks::sending::{InvalidUrl, Message, Sender, SigningKeys, check_url};

use super::model::Event;
use crate::Settings;

/// A delivery channel.
pub(crate) enum Channel {
    /// Writes a log line for each notification.
    Log,
    /// Posts each notification to a URL.
    Webhook(Box<Webhook>),
}

/// The receiver of the deployment.
pub(crate) struct Webhook {
    sender: Sender,
    url: Url,
    keys: SigningKeys,
}

impl Channel {
    /// Opens the channel that the settings describe.
    ///
    /// # Errors
    /// If the webhook has no secrets, or its URL is private or unencrypted and the settings do not allow that.
    pub(crate) fn open(settings: &Settings) -> anyhow::Result<Self> {
        let Some(url) = settings.webhook_url.clone() else { return Ok(Self::Log) };
        let keys = SigningKeys::parse(&settings.webhook_secrets)?;
        let allow_private = settings.webhook_allow_private;
        let invalid = check_url(&url, allow_private).err();
        ensure!(invalid != Some(InvalidUrl::Name), "service.webhook_url must have a valid host name");
        ensure!(!(allow_private && invalid.is_some()), "service.webhook_url must be https:// or http://");
        ensure!(
            invalid != Some(InvalidUrl::Scheme),
            "service.webhook_url must be https:// (http:// only with service.webhook_allow_private)"
        );
        ensure!(
            invalid.is_none(),
            "service.webhook_url is an address of a private network: set service.webhook_allow_private to allow it"
        );
        let sender = Sender::new(settings.notification_delivery().timeout, allow_private)?;
        Ok(Self::Webhook(Box::new(Webhook { sender, url, keys })))
    }
}

impl outbox::Channel for Channel {
    const OUTBOX: Outbox = Outbox {
        name: "notification",
        plural: "notifications",
        trace: "deliver notification",
        table: "notifications",
        group: "organisation_id",
        join: "",
        owner: "turns.key",
        max_slots: "16",
        cause: None,
        bodies: None,
        // Excludes the row from the unique index: another one of the same load, event and recipient may be pending.
        on_redelivery: ", collapses = NULL",
    };
    const METRICS: OutboxMetrics = OutboxMetrics {
        deliveries: "drover_notifications_deliveries_total",
        delivery_seconds: "drover_notifications_delivery_seconds",
        pending: "drover_notifications_pending",
        oldest_pending_seconds: "drover_notifications_oldest_pending_seconds",
        pruned: "drover_notifications_pruned_total",
    };

    async fn deliver(&self, claimed: &Claimed) -> Result<Option<u16>, Failure> {
        let Self::Webhook(webhook) = self else {
            // Without the recipient, which readers of the log may not be allowed to know. The delivery log has it.
            let Claimed { id, event, body, .. } = claimed;
            tracing::info!(notification = %id, load = load_id(body), event, "notification");
            return Ok(None);
        };
        let message = Message { id: claimed.id, webhook_id: None, body: claimed.body.0.clone() };
        let status = webhook.sender.post(&webhook.url, &webhook.keys, message).await?;
        Ok(Some(status.as_u16()))
    }

    fn report(&self, claimed: &Claimed, outcome: &Outcome) {
        let Claimed { id, attempts, body, .. } = claimed;
        match outcome {
            Outcome::Delivered => {}
            Outcome::Retry { reason, .. } => {
                let load = load_id(body);
                tracing::warn!(notification = %id, load, attempts, reason, "a notification was not delivered");
            }
            Outcome::Failed(reason) => {
                tracing::error!(
                    notification = %id, load = load_id(body), attempts, reason,
                    "a notification has failed: retry it with `logistics redeliver {id}`"
                );
            }
        }
    }
}

/// Describes the metrics of notifications and sets them to 0.
pub(crate) fn register_metrics() {
    use outbox::Channel as _;
    Channel::METRICS.register(&Channel::OUTBOX, Event::VARIANTS.iter().copied());
}

/// Returns the id of the load that a message is about.
fn load_id(body: &Json) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        load_id: String,
        #[serde(rename = "load")]
        _load: IgnoredAny,
    }
    #[derive(Deserialize)]
    struct Message {
        data: Data,
    }
    body.parse::<Message>().map(|message| message.data.load_id).unwrap_or_default()
}
