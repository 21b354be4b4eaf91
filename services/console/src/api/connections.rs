//! What the console reads of connections with other programs: deliveries of webhooks, service accounts, and searches
//! that people saved.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A delivery of an event to a webhook.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Delivery {
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) status: String,
    pub(crate) attempts: u32,
    #[serde(rename = "createdAtUTC")]
    pub(crate) created_at: String,
    pub(crate) last_error: Option<String>,
    pub(crate) load_id: Option<String>,
    pub(crate) listing_id: Option<String>,
    /// Only of a single delivery, until it is deleted.
    pub(crate) body: Option<Value>,
    pub(crate) tries: Vec<Try>,
}

/// An attempt of a delivery.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Try {
    #[serde(rename = "atUTC")]
    pub(crate) at: String,
    pub(crate) duration_ms: u64,
    pub(crate) status: Option<u16>,
    pub(crate) error: Option<String>,
}

/// An account of a program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ServiceAccount {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) client_id: String,
    pub(crate) roles: Vec<String>,
    /// Only where it was just made.
    pub(crate) client_secret: Option<String>,
    #[serde(rename = "expiresAtUTC")]
    pub(crate) expires_at: Option<String>,
    #[serde(rename = "lastUsedAtUTC")]
    pub(crate) last_used_at: Option<String>,
}

/// A search of the market that a person saved.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SavedSearch {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) notify: bool,
    pub(crate) new_matches: u64,
    pub(crate) parameters: Map<String, Value>,
}
