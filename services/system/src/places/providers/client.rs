//! The HTTP client of external providers, their API keys, and their metrics (docs/metrics.md).
//!
//! The client limits the duration and size of responses and never logs keys or texts of requests and responses.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use common::{Error, redacted_json_error, traces};
use metrics::{Counter, counter, describe_counter};
use parking_lot::RwLock;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::cache::SecretReloader;
use crate::config::setting;

/// Maximum size of a response in bytes.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// The role of a provider.
#[derive(Clone, Copy)]
pub(crate) enum ProviderKind {
    Addresses,
    Words,
}

impl ProviderKind {
    /// Returns the subject of the message of a 503.
    pub(crate) const fn dependency(self) -> &'static str {
        match self {
            Self::Addresses => "The address provider",
            Self::Words => "The three-word provider",
        }
    }

    /// Returns the value of the label `provider` of the metrics.
    const fn label(self) -> &'static str {
        match self {
            Self::Addresses => "addresses",
            Self::Words => "words",
        }
    }
}

/// The name of the header or query parameter that carries the API key.
pub(super) enum KeyLocation {
    Header(&'static str),
    Query(&'static str),
}

/// A client of one external provider.
pub(super) struct ProviderClient {
    http: reqwest::Client,
    base: Url,
    key: Option<(KeyLocation, Credential)>,
    kind: ProviderKind,
    answered: Counter,
    failed: Counter,
    last_call_succeeded: AtomicBool,
}

impl ProviderClient {
    /// Creates a client. `timeout` limits each attempt of a call.
    ///
    /// # Errors
    /// Fails if the TLS library cannot be initialized.
    pub(super) fn new(
        kind: ProviderKind,
        base: Url,
        key: Option<(KeyLocation, Credential)>,
        timeout: Duration,
    ) -> anyhow::Result<Self> {
        let calls = |outcome| provider_calls(kind.label(), outcome);
        let (answered, failed) = (calls("answered"), calls("failed"));
        let http = common::http::client(timeout)?;
        Ok(Self { http, base, key, kind, answered, failed, last_call_succeeded: AtomicBool::new(true) })
    }

    /// Sends a GET and parses the response with `parse`.
    ///
    /// # Errors
    /// Every failure is a 503. `parse` must not put text of the response into its error: it may repeat the key or the
    /// request, and errors are logged.
    pub(super) async fn get<T>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        parse: impl FnOnce(ProviderResponse) -> anyhow::Result<T>,
    ) -> Result<T, Error> {
        let key = self.key.as_ref().map(|(location, credential)| (location, credential.current()));
        let result = self.send(path, query, key.as_ref()).await.and_then(parse);
        self.last_call_succeeded.store(result.is_ok(), Ordering::Relaxed);
        if result.is_ok() { &self.answered } else { &self.failed }.increment(1);
        result.map_err(|cause| Error::Unavailable(cause, self.kind.dependency()))
    }

    /// Returns true if the last call succeeded, or none was made yet.
    pub(super) fn is_healthy(&self) -> bool {
        self.last_call_succeeded.load(Ordering::Relaxed)
    }

    async fn send(
        &self,
        path: &str,
        query: &[(&str, &str)],
        key: Option<&(&KeyLocation, SecretString)>,
    ) -> anyhow::Result<ProviderResponse> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| anyhow!("the URL has no path"))?
            .pop_if_empty()
            .extend(path.split('/'));
        url.query_pairs_mut().extend_pairs(query);
        let mut headers = HeaderMap::new();
        match key {
            Some((KeyLocation::Header(name), key)) => {
                let mut value: HeaderValue =
                    key.expose_secret().parse().context("the key is not a valid header value")?;
                value.set_sensitive(true);
                headers.insert(*name, value);
            }
            Some((KeyLocation::Query(name), key)) => {
                url.query_pairs_mut().append_pair(name, key.expose_secret());
            }
            None => {}
        }
        let attempt = async || {
            let mut span = traces::http_client_span("GET", &url);
            let result = self.http.get(url.clone()).headers(headers.clone()).send().await;
            traces::record_response(&mut span, result.as_ref().ok().map(reqwest::Response::status));
            result
        };
        let response = match attempt().await {
            // The request was not sent, so a retry is not charged for. A timeout is not retried.
            Err(error) if error.is_connect() && !error.is_timeout() => attempt().await,
            result => result,
        };
        ProviderResponse::read(response.map_err(reqwest::Error::without_url)?).await
    }
}

/// A response of any status.
pub(super) struct ProviderResponse {
    /// Its status.
    pub status: StatusCode,
    body: Vec<u8>,
}

impl ProviderResponse {
    async fn read(mut response: reqwest::Response) -> anyhow::Result<Self> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            ensure!(
                body.len() + chunk.len() <= MAX_RESPONSE_BYTES,
                "the response is larger than {MAX_RESPONSE_BYTES} bytes"
            );
            body.extend_from_slice(&chunk);
        }
        Ok(Self { status: response.status(), body })
    }

    /// Parses the JSON body of a success.
    pub(super) fn success<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        ensure!(self.status.is_success(), "the response has status {}", self.status);
        self.json()
    }

    /// Parses the JSON body of any status.
    pub(super) fn json<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        let parse = || {
            let mut value = serde_json::from_slice(&self.body)?;
            normalize(&mut value);
            serde_json::from_value(value)
        };
        parse().map_err(|error| redacted_json_error(&error))
    }
}

/// Removes members that are null and trims texts.
fn normalize(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(normalize);
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::String(text) => *text = text.trim().to_owned(),
        _ => {}
    }
}

/// An API key from a setting or from a file. It stays in this process, is never logged, and is reloaded from its file
/// when `POST /v1/cache` clears the secrets.
pub(super) struct Credential {
    file: Option<PathBuf>,
    secrets: Arc<SecretReloader>,
    loaded: RwLock<LoadedKey>,
}

#[derive(Clone)]
struct LoadedKey {
    key: SecretString,
    /// Generation of secrets that the key was loaded in.
    generation: u64,
}

impl Credential {
    /// Loads the key from the setting `name`, or from the file that the setting `<name>_file` names.
    ///
    /// # Errors
    /// Fails if none or both of the settings are set, or the file is unreadable or empty.
    pub(super) fn open(
        name: &str,
        key: Option<&SecretString>,
        file: Option<&Path>,
        secrets: &Arc<SecretReloader>,
    ) -> anyhow::Result<Self> {
        let key = key.filter(|key| !key.expose_secret().is_empty());
        let file_setting = setting(&format!("{name}_file"));
        let generation = secrets.generation();
        let key = match (key, file) {
            (Some(key), None) => key.clone(),
            (None, Some(path)) => read_key(path)
                .with_context(|| format!("{file_setting}: set it to a file that contains the key"))?,
            (None, None) => bail!("set {} or {file_setting} to the provider's key", setting(name)),
            (Some(_), Some(_)) => bail!("set either {} or {file_setting}, not both", setting(name)),
        };
        Ok(Self {
            file: file.map(Path::to_owned),
            secrets: secrets.clone(),
            loaded: RwLock::new(LoadedKey { key, generation }),
        })
    }

    /// Returns the current key. Keeps the previous key if the file cannot be reloaded.
    pub(super) fn current(&self) -> SecretString {
        let loaded = self.loaded.read().clone();
        let generation = self.secrets.generation();
        let Some(file) = self.file.as_ref().filter(|_| loaded.generation != generation) else {
            return loaded.key;
        };
        match read_key(file) {
            Ok(key) => {
                *self.loaded.write() = LoadedKey { key: key.clone(), generation };
                key
            }
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "cannot reload the provider's key");
                loaded.key
            }
        }
    }
}

/// Reads a key file. Blocks: the file is local and has one short line.
fn read_key(path: &Path) -> anyhow::Result<SecretString> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(!text.trim().is_empty(), "{} is empty", path.display());
    Ok(text.trim().into())
}

/// Calls of a provider, `addresses` or `words`, over the network. `outcome` is `answered` or `failed`.
fn provider_calls(provider: &'static str, outcome: &'static str) -> Counter {
    counter!("drover_provider_calls_total", "provider" => provider, "outcome" => outcome)
}

/// Describes the metrics and initializes them to 0.
pub(crate) fn register_metrics() {
    describe_counter!("drover_provider_calls_total", "Calls of providers over the network, by outcome");
    for provider in ["addresses", "words"] {
        for outcome in ["answered", "failed"] {
            provider_calls(provider, outcome).increment(0);
        }
    }
}
