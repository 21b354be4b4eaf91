//! The settings of the livestock service, besides those of all services.

use std::path::PathBuf;

use common::config::values::within;
use outbox::DeliveryOptions;
use serde::{Deserialize, Serialize};
use webhooks::{Held, WebhookOptions};

/// The section `service` of the configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Base URL of the system service, which stores the files.
    #[serde(serialize_with = "common::config::values::url_text")]
    pub system_url: String,
    /// CSV file with the columns `id`, `parent_id` and `name` that replaces the embedded categories.
    pub categories_file: Option<PathBuf>,
    /// Shows active listings to visitors without a token, with approximate coordinates.
    pub public_listings: bool,
    /// The most bytes that saved searches with `notify` take in the memory of the replica that matches listings. Beyond
    /// them, no further ones are saved. At most 1 TiB.
    #[serde(deserialize_with = "within::<0, 1_099_511_627_776, _, _>")]
    pub saved_search_bytes: i64,
    /// Number of days after which enquiries are deleted, 1 to 36,500.
    #[serde(deserialize_with = "within::<1, 36_500, _, _>")]
    pub enquiry_retention_days: u32,
    /// Allows receivers of webhooks in private networks and on this machine, and those without TLS.
    pub webhook_allow_private: bool,
    /// Time within which a receiver must respond, in milliseconds, up to five minutes. After a crash, interrupted
    /// deliveries are repeated after twice this time and a second.
    #[serde(deserialize_with = "within::<1, 300_000, _, _>")]
    pub webhook_timeout_ms: u64,
    /// Backoff after the first failed attempt, in seconds. It triples after each further one, up to 8 hours. After ten
    /// attempts the delivery has failed.
    pub webhook_retry_seconds: u64,
    /// Number of days after which delivered and failed deliveries to webhooks are deleted, 1 to 36,500.
    #[serde(deserialize_with = "within::<1, 36_500, _, _>")]
    pub webhook_retention_days: u32,
    /// The most deliveries to webhooks that an organisation holds: pending, delivered and failed together.
    pub webhook_held_rows: u32,
    /// The most bytes of bodies of these deliveries, each body counted once.
    pub webhook_held_bytes: u64,
    /// The most listings that an organisation creates in an hour at each replica. 0: no limit.
    pub new_listings_per_hour: u32,
}

impl Settings {
    /// Returns the options of the webhooks of organisations.
    pub(crate) fn webhook_options(&self) -> WebhookOptions {
        let Self { webhook_timeout_ms, webhook_retry_seconds, webhook_retention_days, .. } = *self;
        let delivery =
            DeliveryOptions::new(webhook_timeout_ms, webhook_retry_seconds, webhook_retention_days);
        let held = Held {
            rows: self.webhook_held_rows.into(),
            bytes: i64::try_from(self.webhook_held_bytes).unwrap_or(i64::MAX),
        };
        WebhookOptions { allow_private: self.webhook_allow_private, held, delivery }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            system_url: "http://127.0.0.1:8081".into(),
            categories_file: None,
            public_listings: false,
            saved_search_bytes: 128 << 20,
            enquiry_retention_days: 365,
            webhook_allow_private: false,
            webhook_timeout_ms: 10_000,
            webhook_retry_seconds: 15,
            webhook_retention_days: 30,
            webhook_held_rows: 200_000,
            webhook_held_bytes: 256 << 20,
            new_listings_per_hour: 0,
        }
    }
}
