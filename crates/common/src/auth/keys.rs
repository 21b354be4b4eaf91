//! Verification keys from a JWKS file or URL, held in memory only.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use parking_lot::RwLock;
use reqwest::Response;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::JoinHandle;
use url::Url;

use super::settings;
use crate::config::Auth;
use crate::config::values::without_credentials;

/// A key and its algorithm. The algorithm never comes from the token.
pub(super) struct VerificationKey {
    pub(super) algorithm: Algorithm,
    pub(super) decoding: DecodingKey,
}

type Keys = HashMap<String, Arc<VerificationKey>>;

/// The source of keys.
pub(super) enum Source {
    File(PathBuf),
    Url(reqwest::Client, Url),
    /// The settings do not name one; what to change.
    Invalid(String),
}

impl Source {
    /// Returns the source that settings name.
    ///
    /// # Errors
    /// Fails if no HTTP client can be built.
    pub(super) fn of(config: &Auth) -> anyhow::Result<Self> {
        Ok(match (settings::problems(config), &config.jwks_file, &config.jwks_url) {
            (None, Some(path), _) => Self::File(path.clone()),
            (None, None, Some(url)) => Self::Url(crate::http::client(FETCH_TIMEOUT)?, url.clone()),
            (problems, ..) => Self::Invalid(problems.unwrap_or_default()),
        })
    }
}

/// Names the source with its setting and environment variable.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => {
                write!(f, "the key file {} of auth.jwks_file (DROVER_AUTH__JWKS_FILE)", path.display())
            }
            Self::Url(_, url) => {
                let url = without_credentials(url.clone());
                write!(f, "{url} of auth.jwks_url (DROVER_AUTH__JWKS_URL)")
            }
            Self::Invalid(problems) => f.write_str(problems),
        }
    }
}

/// Minimum interval between fetches because of unknown keys.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(10);
/// Keys are fetched again after this time, so that withdrawn keys are forgotten.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Interval between fetches until the first one succeeds.
const FIRST_FETCH_INTERVAL: Duration = Duration::from_secs(2);
/// Timeout of one fetch.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a key set in bytes.
const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// The keys of a source. They are fetched again when a token names an unknown key.
pub(super) struct KeySet(Arc<Inner>);

struct Inner {
    source: Source,
    keys: RwLock<Keys>,
    /// The start of the last fetch, successful or not; locked during a fetch. A failed reload leaves it unchanged.
    fetched_at: Arc<Mutex<Option<Instant>>>,
}

impl KeySet {
    /// Creates a set without keys.
    pub(super) fn new(source: Source) -> Self {
        let fetched_at = Arc::new(Mutex::new(Some(Instant::now())));
        Self(Arc::new(Inner { source, keys: RwLock::default(), fetched_at }))
    }

    /// Fetches the keys when the service starts. A file must be readable; a URL may be unavailable.
    pub(super) async fn open(&self) -> anyhow::Result<()> {
        match self.0.fetch().await {
            Err(error) if self.is_remote() => {
                tracing::warn!(error = format!("{error:#}"), "no verification keys yet");
                Ok(())
            }
            result => result,
        }
    }

    /// Returns true if the source is a URL.
    pub(super) fn is_remote(&self) -> bool {
        matches!(self.0.source, Source::Url(..))
    }

    /// Returns the number of keys and where they come from, for people.
    pub(super) fn describe(&self) -> String {
        let count = self.0.keys.read().len();
        match &self.0.source {
            Source::File(path) => format!("{count} in {}", path.display()),
            Source::Url(_, url) => format!("{count} at {}", without_credentials(url.clone())),
            Source::Invalid(_) => format!("{count} without a source"),
        }
    }

    /// Fetches the keys until that succeeded once. A service that is not ready gets no requests that would fetch them.
    pub(super) async fn fetch_first(&self) {
        while self.is_empty() {
            tokio::time::sleep(FIRST_FETCH_INTERVAL).await;
            if self.is_empty()
                && let Err(error) = self.reload().await
            {
                tracing::debug!(error = format!("{error:#}"), "no verification keys yet");
            }
        }
    }

    /// Returns the key with this name, or the only key if `kid` is `None`. Waits for a fetch if the key is unknown.
    pub(super) async fn find(&self, kid: Option<&str>) -> Option<Arc<VerificationKey>> {
        let fetched_at = self.0.fetched_at.clone();
        if let Some(key) = self.0.get(kid) {
            // Keys that are due for a fetch stay in use meanwhile; this request does not wait.
            if let Ok(fetched_at) = fetched_at.try_lock_owned() {
                self.spawn_fetch(fetched_at, MAX_AGE);
            }
            return Some(key);
        }
        if let Some(fetch) = self.spawn_fetch(fetched_at.lock_owned().await, MIN_FETCH_INTERVAL) {
            let _ = fetch.await;
        }
        self.0.get(kid)
    }

    /// Fetches the keys now. If this fails, the present keys stay in use.
    pub(super) async fn reload(&self) -> anyhow::Result<()> {
        let mut fetched_at = self.0.fetched_at.lock().await;
        self.0.fetch().await?;
        *fetched_at = Some(Instant::now());
        Ok(())
    }

    /// Returns true if there are no keys.
    pub(super) fn is_empty(&self) -> bool {
        self.0.keys.read().is_empty()
    }

    /// Starts a fetch, unless the last one was less than `min_age` ago.
    fn spawn_fetch(
        &self,
        mut fetched_at: OwnedMutexGuard<Option<Instant>>,
        min_age: Duration,
    ) -> Option<JoinHandle<()>> {
        if fetched_at.is_some_and(|at| at.elapsed() < min_age) {
            return None;
        }
        *fetched_at = Some(Instant::now());
        let inner = self.0.clone();
        // A task of its own, since other requests wait for it too: a client that disconnects must not cancel it.
        Some(tokio::spawn(async move {
            let _lock = fetched_at;
            if let Err(error) = inner.fetch().await {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "the verification keys could not be fetched again"
                );
            }
        }))
    }
}

impl Inner {
    fn get(&self, kid: Option<&str>) -> Option<Arc<VerificationKey>> {
        let keys = self.keys.read();
        match kid {
            Some(kid) => keys.get(kid).cloned(),
            None if keys.len() == 1 => keys.values().next().cloned(),
            None => None,
        }
    }

    async fn fetch(&self) -> anyhow::Result<()> {
        let document = self.load().await?;
        let keys = parse(&document).with_context(|| format!("cannot use {}", self.source))?;
        *self.keys.write() = keys;
        Ok(())
    }

    async fn load(&self) -> anyhow::Result<Vec<u8>> {
        match &self.source {
            Source::File(path) => {
                tokio::fs::read(path).await.with_context(|| format!("cannot read {}", self.source))
            }
            Source::Url(client, url) => {
                // Errors of reqwest contain the URL, whose query may contain a secret.
                let failed = |error: reqwest::Error| {
                    crate::http::failure(error, url).context(format!("cannot fetch {}", self.source))
                };
                let response = client.get(url.clone()).send().await.and_then(Response::error_for_status);
                let mut response = response.map_err(failed)?;
                let mut bytes = Vec::new();
                while let Some(chunk) = response.chunk().await.map_err(failed)? {
                    bytes.extend_from_slice(&chunk);
                    ensure!(
                        bytes.len() <= MAX_DOCUMENT_BYTES,
                        "cannot use {}: the key set has more than {MAX_DOCUMENT_BYTES} bytes",
                        self.source
                    );
                }
                Ok(bytes)
            }
            Source::Invalid(problems) => bail!("{problems}"),
        }
    }
}

/// A JWKS document (RFC 7517).
#[derive(serde::Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

fn parse(json: &[u8]) -> anyhow::Result<Keys> {
    let set: Document = serde_json::from_slice(json).context("the key set is not a JWKS document")?;
    let mut keys = Keys::new();
    for value in set.keys {
        let kid = value["kid"].as_str().unwrap_or_default().to_owned();
        match serde_json::from_value(value).map_err(Into::into).and_then(|jwk| key(&jwk)) {
            Ok(key) => {
                if keys.insert(kid.clone(), Arc::new(key)).is_some() {
                    tracing::warn!(kid, "several keys of the key set have this id: the last one is used");
                }
            }
            // Providers may also publish keys for other purposes than signing tokens.
            Err(error) => tracing::info!(%error, kid, "a key of the key set is skipped"),
        }
    }
    if keys.is_empty() {
        bail!("the key set has no RSA, P-256 or Ed25519 key");
    }
    Ok(keys)
}

fn key(jwk: &Jwk) -> anyhow::Result<VerificationKey> {
    let (algorithm, name) = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(p) if p.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(p) if p.curve == EllipticCurve::Ed25519 => {
            (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
        }
        _ => bail!("only RSA, P-256 and Ed25519 keys are supported"),
    };
    let stated = jwk.common.key_algorithm.unwrap_or(name);
    ensure!(stated == name, "the key is for {stated}, which is not supported");
    ensure!(jwk.common.public_key_use != Some(PublicKeyUse::Encryption), "the key is for encryption");
    Ok(VerificationKey { algorithm, decoding: DecodingKey::from_jwk(jwk)? })
}
