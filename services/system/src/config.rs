//! The settings of the system service.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use common::config::values::{secret, url, without_credentials};
use redis::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

/// The value of `cache_url` for a cache in the memory of the process.
const IN_MEMORY: &str = "memory:";

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
    /// The cache: `memory:`, or the URL of a Redis server that the replicas share, `redis://HOST:6379/0`, or
    /// `rediss://HOST:6379/0` with TLS.
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
        ensure!(messages.is_empty(), "{}", messages.join("; "));
        Ok(())
    }

    /// Returns a client of the Redis server that `cache_url` names, or `None` if the cache is in the memory of the
    /// process. Does not connect.
    ///
    /// # Errors
    /// Fails if the URL is invalid. The message names the setting and contains nothing of the URL.
    pub(crate) fn redis(&self) -> anyhow::Result<Option<Client>> {
        let url = self.cache_url.expose_secret();
        if url == IN_MEMORY {
            Ok(None)
        } else {
            redis_client(url).with_context(|| setting("cache_url")).map(Some)
        }
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

/// Returns a client of the Redis server with this URL.
///
/// # Errors
/// Fails if the URL is invalid. The message is the rest of a sentence whose subject is the setting.
fn redis_client(url: &str) -> anyhow::Result<Client> {
    const EXPECTED: &str = "must be `memory:` or the URL of one Redis server, for example \
                            `redis://cache.internal:6379/0`, or `rediss://cache.internal:6379/0` with TLS";
    const REMOVED: &str = "no longer takes Redis Sentinel or Redis Cluster: set it to the address of a managed Redis, \
                           or of a proxy in front of the master, for example `redis://cache.internal:6379/0`";
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    ensure!(!["sentinel", "cluster"].iter().any(|kind| scheme.contains(kind)), REMOVED);
    ensure!(["redis", "rediss"].contains(&scheme), EXPECTED);
    let url = Url::parse(url).context(EXPECTED)?;
    // A list of hosts would be the name of one host.
    ensure!(!url.host_str().is_some_and(|host| host.contains(',')), EXPECTED);
    Client::open(url).context(EXPECTED)
}

/// Serializes the URL of the cache without its password and parameters. An invalid URL becomes an empty text, because
/// its password may be anywhere.
fn cache_url<S: Serializer>(url: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    let url = url.expose_secret();
    let displayed = match (redis_client(url), Url::parse(url)) {
        _ if url == IN_MEMORY => url.to_owned(),
        (Ok(_), Ok(mut url)) => {
            // Fails for URLs without a host only.
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.into()
        }
        _ => String::new(),
    };
    serializer.serialize_str(&displayed)
}

/// Serializes the URL of the store without user name and password.
fn store_url<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let with_credentials =
        Url::parse(url).ok().filter(|url| !url.username().is_empty() || url.password().is_some());
    serializer.serialize_str(with_credentials.map(without_credentials).as_ref().map_or(url, Url::as_str))
}

#[cfg(test)]
mod tests {
    use redis::ConnectionAddr;

    use super::*;

    fn with_cache(url: &str) -> Settings {
        Settings { cache_url: url.into(), ..Settings::default() }
    }

    #[test]
    fn cache_urls_name_one_server() {
        assert!(with_cache("memory:").redis().unwrap().is_none());
        for (url, address, user, password, database) in [
            ("redis://cache", "cache:6379", None, None, 0),
            ("redis://user:p%40ss@cache:7000/2", "cache:7000", Some("user"), Some("p@ss"), 2),
            ("redis://:a%2Cb@[::1]:7000", "::1:7000", None, Some("a,b"), 0),
            ("rediss://:p%2Fss@cache.internal:6380/0", "cache.internal:6380", None, Some("p/ss"), 0),
        ] {
            let client = with_cache(url).redis().unwrap().unwrap();
            let server = client.get_connection_info();
            let settings = server.redis_settings();
            assert_eq!(server.addr().to_string(), address);
            assert_eq!((settings.username(), settings.password(), settings.db()), (user, password, database));
            let uses_tls = matches!(server.addr(), ConnectionAddr::TcpTls { insecure: false, .. });
            assert_eq!(uses_tls, url.starts_with("rediss"), "{url}");
        }
    }

    /// Each message is one line that says what to write, without anything of the URL, which is not displayed either.
    #[test]
    fn invalid_cache_urls_are_refused_with_an_example() {
        let (expected, removed) =
            ("must be `memory:` or the URL of one Redis server", "no longer takes Redis Sentinel");
        for (url, message) in [
            ("", expected),
            ("memory", expected),
            ("memory:hunter2", expected),
            ("http://user:hunter2@cache/", expected),
            ("unix:///run/hunter2", expected),
            ("redis+unix:///run/hunter2", expected),
            ("redis:hunter2", expected),
            ("redis://", expected),
            ("redis://:hunter2@", expected),
            ("redis://user:hunter2@cache/many", expected),
            ("redis://user:1/hunter2@cache", expected),
            ("redis://user:hunter2@c1,c2", expected),
            ("redis://user:hunter2@c1:6379,c2:6379", expected),
            ("redis+sentinel://user:hunter2@s1:26379,s2:26379/master/0?sentinel_password=hunter2", removed),
            ("rediss+sentinel://:hunter2@s1/master", removed),
            ("redis+cluster://user:hunter2@c1:6379,c2:6379", removed),
            ("rediss+cluster://c1?hunter2", removed),
            ("redis-sentinel://:hunter2@s1/master", removed),
        ] {
            let settings = with_cache(url);
            let error = format!("{:#}", settings.redis().unwrap_err());
            let begin = format!("service.cache_url (DROVER_SERVICE__CACHE_URL): {message}");
            assert!(
                error.starts_with(&begin) && error.contains("`redis://cache.internal:6379/0`"),
                "{url}: {error}"
            );
            assert!(!error.contains('\n') && !error.contains("hunter2"), "{url}: {error}");
            assert_eq!(serde_json::to_value(settings).unwrap()["cache_url"], "", "{url}");
        }
    }

    #[test]
    fn passwords_of_caches_are_not_displayed() {
        for (url, displayed) in [
            ("memory:", "memory:"),
            ("redis://user:hunter2@cache:1/2", "redis://user@cache:1/2"),
            ("rediss://:hunter2@cache", "rediss://cache"),
            ("redis://user:1?hunter2@cache", "redis://user:1"),
            ("redis://user:1#hunter2@cache", "redis://user:1"),
        ] {
            assert_eq!(serde_json::to_value(with_cache(url)).unwrap()["cache_url"], displayed);
        }
    }
}
