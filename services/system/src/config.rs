//! The settings of the system service.

use std::path::PathBuf;
use std::time::Duration;

use common::config::redact::{secret, url, without_credentials};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

use crate::redis_url::without_password;

/// Section `service` of the configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Location of file contents, for this deployment only: `file://` and a folder (absolute, or relative to the
    /// working directory), `s3://BUCKET`, `gs://BUCKET` or `az://CONTAINER`; a folder may follow the name of a bucket.
    /// Uploads to a bucket are buffered in the machine's temporary folder (`TMPDIR`), which should therefore be on a
    /// disk. The bucket should have a rule that aborts incomplete multipart uploads after a day, because a crash may
    /// leave some.
    #[serde(serialize_with = "store_url")]
    pub store_url: String,
    /// Endpoint of an S3-compatible server, in place of the provider's own. A connection is unencrypted only if this
    /// starts with `http://`. Default: `AWS_ENDPOINT_URL`, `GOOGLE_BASE_URL` or `AZURE_ENDPOINT`.
    #[serde(serialize_with = "url")]
    pub store_endpoint: Option<Url>,
    /// Region of the S3 bucket. Default: `AWS_REGION`.
    pub store_region: Option<String>,
    /// Access key id on S3, account on Azure. Default: the credentials of the environment (variables `AWS_…`,
    /// `GOOGLE_…`, `AZURE_…`, a workload identity, the role of an instance).
    pub store_access_key: Option<String>,
    /// Secret access key on S3, account key on Azure.
    #[serde(serialize_with = "secret")]
    pub store_secret_key: Option<SecretString>,
    /// Age in seconds after which content without a file record is removed. An upload whose content waits half as long
    /// for its record is refused. All replicas and the command `sweep-files` must use the same value.
    pub sweep_grace_seconds: u64,
    /// Whether images that every caller may download are stored without the position of the camera, XMP and IPTC data:
    /// those of the open types, and those shared with `*`.
    pub strip_metadata: bool,
    /// Whether anybody who knows the id of an image that is shared with `*` gets a link to it, without a token.
    /// Livestock needs such links for public listings.
    pub public_images: bool,
    /// URL of a clamd that scans every upload, `tcp://HOST:3310` or `unix:///run/clamav/clamd.ctl`. Default: no scan.
    /// The `StreamMaxLength` of clamd must be at least `file_bytes`.
    #[serde(serialize_with = "url")]
    pub scan_url: Option<Url>,
    /// Timeout of the scan of one file in seconds.
    pub scan_seconds: u64,
    /// Maximum size of an uploaded file in bytes.
    pub file_bytes: usize,
    /// Maximum number of files of one upload.
    pub file_count: usize,
    /// Maximum size of all files of an organisation in bytes, archived ones too.
    pub max_bytes_per_organisation: u64,
    /// Maximum size of all files in bytes that a user uploaded without an organisation, archived ones too.
    pub max_bytes_per_user: u64,
    /// The cache: `memory:`, or the URL of a Redis that the replicas share. One server is `redis://HOST:6379/0`. A
    /// master that sentinels name is `redis+sentinel://HOST:26379,HOST:26379/MASTER/0`; the parameters `sentinel_user`
    /// and `sentinel_password` are for the sentinels. A cluster is `redis+cluster://HOST:6379,HOST:6379` with some of
    /// its nodes. With TLS, the schemes begin with `rediss`.
    #[serde(serialize_with = "cache_url")]
    pub cache_url: SecretString,
    /// Prefix of this deployment's keys in a shared Redis.
    pub cache_prefix: String,
    /// Maximum size of the in-memory cache in bytes of keys and values.
    pub cache_bytes: u64,
    /// Lifetime of a cache entry in seconds.
    pub cache_seconds: u64,
    /// Provider of three-word addresses.
    pub words_provider: WordsProvider,
    /// URL of the `what3words` service, without `/v3`.
    #[serde(serialize_with = "url")]
    pub words_url: Option<Url>,
    /// API key of the `what3words` service.
    #[serde(serialize_with = "secret")]
    pub words_key: Option<SecretString>,
    /// File that contains this key, in place of the setting. Read again when the cached secrets are cleared.
    pub words_key_file: Option<PathBuf>,
    /// Provider of addresses.
    pub address_provider: AddressProvider,
    /// URL of the `loqate` or `photon` service.
    #[serde(serialize_with = "url")]
    pub address_url: Option<Url>,
    /// API key of the `loqate` service.
    #[serde(serialize_with = "secret")]
    pub address_key: Option<SecretString>,
    /// File with this key, as an alternative. It is reloaded when the secrets are cleared from the cache.
    pub address_key_file: Option<PathBuf>,
    /// Whether the gazetteer answers address searches and finds the nearest place while the address provider is
    /// unavailable.
    pub address_fallback: bool,
    /// Timeout of a call to a provider in milliseconds.
    pub provider_timeout_ms: u64,
    /// ISO 3166-1 alpha-2 codes of the enabled countries. Their places come first in an address search.
    pub enabled_countries: Vec<String>,
    /// CSV file whose column `iso` has these codes, in place of `enabled_countries`.
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
            strip_metadata: true,
            public_images: true,
            scan_url: None,
            scan_seconds: 30,
            file_bytes: 25 << 20,
            file_count: 10,
            max_bytes_per_organisation: 50 << 30,
            max_bytes_per_user: 1 << 30,
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

/// A provider of three-word addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WordsProvider {
    /// The embedded grid.
    Grid,
    /// A service with the what3words API, version 3.
    What3words,
}

/// A provider of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressProvider {
    /// The embedded gazetteer.
    Gazetteer,
    /// A service with the Loqate Capture API.
    Loqate,
    /// A Photon server.
    Photon,
}

impl Settings {
    /// Checks the durations, except `cache_seconds`, which `Cache::open` checks.
    ///
    /// # Errors
    /// Fails if some of them are 0. The message names these.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let durations = [
            ("sweep_grace_seconds", self.sweep_grace_seconds),
            ("scan_seconds", self.scan_seconds),
            ("provider_timeout_ms", self.provider_timeout_ms),
        ];
        let zeros = durations.iter().filter(|(_, duration)| *duration == 0);
        let messages: Vec<_> =
            zeros.map(|(name, _)| format!("{} is 0: set it to 1 or more", setting(name))).collect();
        anyhow::ensure!(messages.is_empty(), "{}", messages.join("; "));
        Ok(())
    }

    /// Returns the age after which content without a file record is removed.
    pub(crate) fn sweep_grace(&self) -> Duration {
        Duration::from_secs(self.sweep_grace_seconds)
    }
}

/// Returns the name of a setting of this service with its environment variable, for error messages:
/// `service.cache_url (DROVER_SERVICE__CACHE_URL)`.
pub(crate) fn setting(name: &str) -> String {
    format!("service.{name} (DROVER_SERVICE__{})", name.to_uppercase())
}

/// Serializes the URL of the cache without its password. A URL that cannot be parsed becomes an empty text.
fn cache_url<S: Serializer>(url: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&without_password(url.expose_secret()))
}

/// Serializes the URL of the store without user name and password.
fn store_url<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let with_credentials =
        Url::parse(url).ok().filter(|url| !url.username().is_empty() || url.password().is_some());
    serializer.serialize_str(with_credentials.map(without_credentials).as_ref().map_or(url, Url::as_str))
}
