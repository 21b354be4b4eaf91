//! What the logistics service is told beyond what all services are.

use std::path::PathBuf;

use common::config::number::within;
use common::config::shown::{address, all_hidden, base};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;

/// Section `service`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Base URL of the system service, which knows the files.
    #[serde(serialize_with = "base")]
    pub system_url: String,
    /// A CSV file with columns `id`, `name` and `category` that replaces the embedded commodities.
    pub commodities_file: Option<PathBuf>,
    /// Where notifications of loads are POSTed, `https://`; none: a line in the log names each.
    #[serde(serialize_with = "address")]
    pub webhook_url: Option<Url>,
    /// What they are signed with (Standard Webhooks): `whsec_` and the base64 of 24 to 64 random bytes. Each of several
    /// signs, so that a receiver can change over to a new one: put the new one beside the old, then take the old away.
    #[serde(serialize_with = "all_hidden")]
    pub webhook_secrets: Vec<SecretString>,
    /// The receiver may be in a private network or on this machine, and need not have TLS.
    pub webhook_allow_private: bool,
    /// How long the receiver has for its answer, in milliseconds, up to five minutes. Twice as long after a crash its
    /// deliveries are made again.
    #[serde(deserialize_with = "within::<1, 300_000, _, _>")]
    pub webhook_timeout_ms: u64,
    /// The pause after the first try in vain, in seconds; it is three times as long after each further one, up to 8
    /// hours. After ten tries the notification has failed.
    pub webhook_retry_seconds: u64,
    /// Delivered and failed notifications are deleted this many days after they were sent, 1 to 36,500.
    #[serde(deserialize_with = "within::<1, 36_500, _, _>")]
    pub notification_retention_days: u32,
    /// The most files of a batch. They wait in the temporary folder of the machine (`TMPDIR`), which should be on a disk.
    pub batch_files: usize,
    /// The most bytes of each.
    pub batch_bytes: usize,
    /// The most rows of a batch. It may have as many blank rows besides (at least 1,000), and 40 cells for each row.
    pub batch_rows: usize,
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
            batch_files: 10,
            batch_bytes: 25 << 20,
            batch_rows: 50_000,
        }
    }
}
