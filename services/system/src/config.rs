//! What this service alone is told.

use std::path::PathBuf;
use std::time::Duration;

use common::config::redact::{secret, url, without_credentials};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

/// Section `service` of the configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Where the content of files is kept, for this deployment alone: `file://` and a folder, absolute or from where
    /// the service starts; or `s3://BUCKET`, `gs://BUCKET`, `az://CONTAINER`, each with a folder if you like.
    /// What is uploaded to a bucket waits in the temporary folder of the machine (`TMPDIR`) until it is whole, so that
    /// should be on a disk; and the bucket should have a rule that aborts incomplete multipart uploads after a day,
    /// which a crash may leave there.
    #[serde(serialize_with = "store")]
    pub store_url: String,
    /// Another address of the store than the provider's own, for S3-compatible servers; only `http://` here turns
    /// encryption off. By default as `AWS_ENDPOINT_URL`, `GOOGLE_BASE_URL` or `AZURE_ENDPOINT` says.
    #[serde(serialize_with = "url")]
    pub store_endpoint: Option<Url>,
    /// The region of the bucket on S3. By default as `AWS_REGION` says.
    pub store_region: Option<String>,
    /// The access key id on S3, the account on Azure. By default what the environment or the machine provides: the
    /// variables `AWS_…`, `GOOGLE_…`, `AZURE_…`, a workload's identity, an instance's role.
    pub store_access_key: Option<String>,
    /// The secret access key on S3, the account's key on Azure.
    #[serde(serialize_with = "secret")]
    pub store_secret_key: Option<SecretString>,
    /// Content that no file has is removed when it is older than this, in seconds. An upload whose content waits
    /// half as long for its record is refused. Replicas and the command `sweep-files` must be told the same.
    pub sweep_grace_seconds: u64,
    /// A clamd that looks at every upload, `tcp://HOST:3310` or `unix:///run/clamav/clamd.ctl`; none: no scan. Its
    /// `StreamMaxLength` must be `file_bytes` at least.
    #[serde(serialize_with = "url")]
    pub scan_url: Option<Url>,
    /// How long it may take for one file, in seconds.
    pub scan_seconds: u64,
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
    /// The scheme of three-word addresses.
    pub words_provider: WordsProvider,
    /// Where `what3words` is, without `/v3`.
    #[serde(serialize_with = "url")]
    pub words_url: Option<Url>,
    /// Its key.
    #[serde(serialize_with = "secret")]
    pub words_key: Option<SecretString>,
    /// Or a file with its key, which is read again when the secrets are cleared from the cache.
    pub words_key_file: Option<PathBuf>,
    /// Who knows addresses.
    pub address_provider: AddressProvider,
    /// Where `loqate` or `photon` is.
    #[serde(serialize_with = "url")]
    pub address_url: Option<Url>,
    /// The key of `loqate`.
    #[serde(serialize_with = "secret")]
    pub address_key: Option<SecretString>,
    /// Or a file with its key, which is read again when the secrets are cleared from the cache.
    pub address_key_file: Option<PathBuf>,
    /// The gazetteer answers address searches and coordinates while the address provider cannot be reached.
    pub address_fallback: bool,
    /// How long to wait for a provider, in milliseconds.
    pub provider_timeout_ms: u64,
    /// Codes of the countries that are shown as enabled, and whose places come first in an address search.
    pub enabled_countries: Vec<String>,
    /// Or a CSV file with a column `iso` of such codes.
    pub countries_file: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            store_url: "file://./files".into(),
            store_endpoint: None,
            store_region: None,
            store_access_key: None,
            store_secret_key: None,
            sweep_grace_seconds: 3600,
            scan_url: None,
            scan_seconds: 30,
            file_bytes: 25 << 20,
            file_count: 10,
            cache_url: "memory:".into(),
            cache_prefix: "drover:system:".into(),
            cache_bytes: 64 << 20,
            cache_seconds: 24 * 3600,
            words_provider: WordsProvider::Grid,
            words_url: None,
            words_key: None,
            words_key_file: None,
            address_provider: AddressProvider::Gazetteer,
            address_url: None,
            address_key: None,
            address_key_file: None,
            address_fallback: false,
            provider_timeout_ms: 3000,
            enabled_countries: vec!["GB".into(), "IE".into()],
            countries_file: None,
        }
    }
}

/// A scheme of three-word addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WordsProvider {
    /// The embedded one.
    Grid,
    /// A service with the what3words API, version 3.
    What3words,
}

/// Who knows addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressProvider {
    /// The embedded one.
    Gazetteer,
    /// A service with the Loqate Capture API.
    Loqate,
    /// A Photon server.
    Photon,
}

impl Settings {
    /// # Errors
    /// A time of zero, which nothing can be done in.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        for (name, time) in [
            ("sweep_grace_seconds", self.sweep_grace_seconds),
            ("scan_seconds", self.scan_seconds),
            ("provider_timeout_ms", self.provider_timeout_ms),
        ] {
            let variable = name.to_uppercase();
            anyhow::ensure!(
                time > 0,
                "service.{name} (DROVER_SERVICE__{variable}) is {time}: set it to 1 or more"
            );
        }
        Ok(())
    }

    /// How old content must be to be removed.
    pub(crate) fn grace(&self) -> Duration {
        Duration::from_secs(self.sweep_grace_seconds)
    }
}

fn without_password<S: Serializer>(url: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    let Ok(mut url) = Url::parse(url.expose_secret()) else { return serializer.serialize_str("") };
    // An address that can have no password has none.
    let _ = url.set_password(None);
    serializer.collect_str(&url)
}

fn store<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let named = Url::parse(url).ok().filter(|url| !url.username().is_empty() || url.password().is_some());
    serializer.serialize_str(named.map(without_credentials).as_ref().map_or(url, Url::as_str))
}
