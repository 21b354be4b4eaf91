//! Settings of the logistics service in addition to those of all services.

use std::path::PathBuf;

use common::config::values::{secrets, url, url_text, within};
use outbox::DeliveryOptions;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;
use webhooks::{Held, WebhookOptions};

/// What happens to a proof whose net weight is outside the tolerance (`service.weight_tolerance`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToleranceAction {
    /// The response has a warning.
    #[default]
    Warn,
    /// The proof is refused.
    Refuse,
}

/// The section `service`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Base URL of the system service, which stores the files.
    #[serde(serialize_with = "url_text")]
    pub system_url: String,
    /// Path of a CSV file with the columns `id`, `name` and `category` that replaces the embedded commodities.
    pub commodities_file: Option<PathBuf>,
    /// URL to which notifications are POSTed, `https://`. Without it, notifications are written to the log.
    #[serde(serialize_with = "url")]
    pub webhook_url: Option<Url>,
    /// Secrets that sign notifications (Standard Webhooks): `whsec_` and the base64 of 24 to 64 random bytes. Each
    /// secret adds a signature. To rotate, add the new secret, change the receiver, then remove the old secret.
    #[serde(serialize_with = "secrets")]
    pub webhook_secrets: Vec<SecretString>,
    /// Allows a receiver in a private network or on this machine, and one without TLS.
    pub webhook_allow_private: bool,
    /// Time within which the receiver must respond, in milliseconds, up to five minutes. After a crash, interrupted
    /// deliveries are repeated after twice this time and a second.
    #[serde(deserialize_with = "within::<1, 300_000, _, _>")]
    pub webhook_timeout_ms: u64,
    /// Backoff after the first failed attempt, in seconds. It triples after each further one, up to 8 hours. After ten
    /// attempts the notification has failed.
    pub webhook_retry_seconds: u64,
    /// Number of days after which delivered and failed notifications are deleted, 1 to 36,500.
    #[serde(deserialize_with = "within::<1, 36_500, _, _>")]
    pub notification_retention_days: u32,
    /// Number of days after which delivered and failed deliveries to the webhooks of organisations are deleted, 1 to
    /// 36,500.
    #[serde(deserialize_with = "within::<1, 36_500, _, _>")]
    pub webhook_retention_days: u32,
    /// The most deliveries to webhooks that an organisation holds: pending, delivered and failed together.
    pub webhook_held_rows: u32,
    /// The most bytes of bodies of these deliveries, each body counted once.
    pub webhook_held_bytes: u64,
    /// What happens to a proof of delivery whose net weight is outside the tolerance: `warn` or `refuse`.
    pub weight_tolerance: ToleranceAction,
    /// The most by which the net weight of a proof may differ from the weight of the load, in per cent, 0 to 1000.
    #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
    pub weight_tolerance_percent: u32,
    /// Maximum number of files in a batch. They are stored in the temporary directory (`TMPDIR`), which should be on a
    /// disk.
    pub batch_files: usize,
    /// Maximum size of each file of a batch, in bytes.
    pub batch_bytes: usize,
    /// Maximum number of rows in a batch. It may have as many blank rows in addition (at least 1,000), and 40 cells for
    /// each row.
    pub batch_rows: usize,
    /// The most loads that an organisation creates in an hour at each replica, also by batches, of which the last one
    /// may exceed it. 0: no limit.
    pub new_loads_per_hour: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            system_url: "http://127.0.0.1:8081".into(),
            commodities_file: None,
            webhook_url: None,
            webhook_secrets: Vec::new(),
            webhook_allow_private: false,
            webhook_timeout_ms: 10_000,
            webhook_retry_seconds: 15,
            notification_retention_days: 30,
            webhook_retention_days: 30,
            webhook_held_rows: 200_000,
            webhook_held_bytes: 256 << 20,
            weight_tolerance: ToleranceAction::Warn,
            weight_tolerance_percent: 10,
            batch_files: 10,
            batch_bytes: 25 << 20,
            batch_rows: 50_000,
            new_loads_per_hour: 0,
        }
    }
}

impl Settings {
    /// Returns the durations of the delivery of notifications.
    pub(crate) fn notification_delivery(&self) -> DeliveryOptions {
        self.delivery(self.notification_retention_days)
    }

    /// Returns the options of the webhooks of organisations.
    pub(crate) fn webhook_options(&self) -> WebhookOptions {
        let delivery = self.delivery(self.webhook_retention_days);
        let held = Held {
            rows: self.webhook_held_rows.into(),
            bytes: i64::try_from(self.webhook_held_bytes).unwrap_or(i64::MAX),
        };
        WebhookOptions { allow_private: self.webhook_allow_private, held, delivery }
    }

    fn delivery(&self, retention_days: u32) -> DeliveryOptions {
        DeliveryOptions::new(self.webhook_timeout_ms, self.webhook_retry_seconds, retention_days)
    }
}
