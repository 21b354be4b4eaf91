//! What this service alone is told.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

/// Section `service` of the configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Where the content of files is kept: `file://` and a folder, absolute or from where the service starts.
    pub store_url: String,
    /// The most bytes of an uploaded file.
    pub file_bytes: usize,
    /// The most files of one upload.
    pub file_count: usize,
    /// Where the cache is: `memory:` in the process, or `redis://` or `rediss://` and an address to share it.
    #[serde(serialize_with = "without_password")]
    pub cache_url: SecretString,
    /// What this deployment's keys in a shared Redis begin with.
    pub cache_prefix: String,
    /// The most bytes of keys and values in the process's own cache.
    pub cache_bytes: u64,
    /// How long an entry is kept, in seconds.
    pub cache_seconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            store_url: "file://./files".into(),
            file_bytes: 25 << 20,
            file_count: 10,
            cache_url: "memory:".into(),
            cache_prefix: "drover:system:".into(),
            cache_bytes: 64 << 20,
            cache_seconds: 24 * 3600,
        }
    }
}

fn without_password<S: Serializer>(url: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    let Ok(mut url) = Url::parse(url.expose_secret()) else { return serializer.serialize_str("") };
    // An address that can have no password has none.
    let _ = url.set_password(None);
    serializer.collect_str(&url)
}
