//! Verification keys of an issuer from a JWKS file or URL, or of the system service, held in memory only.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use futures_util::future::BoxFuture;
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
use crate::telemetry::security::plain_id;

/// A key and its algorithm. The algorithm never comes from the token.
pub(super) struct VerificationKey {
    pub(super) algorithm: Algorithm,
    pub(super) decoding: DecodingKey,
    /// The issuer (`iss`) of the tokens that the key verifies.
    pub(super) issuer: Arc<str>,
}

type Keys = HashMap<String, Arc<VerificationKey>>;

/// The keys that an issuer publishes.
pub struct IssuerKeys {
    /// The issuer (`iss`) of its tokens.
    pub issuer: String,
    /// A JWKS document.
    pub jwks: Vec<u8>,
}

/// Loads the keys of the tokens that this service issues itself.
pub type KeyLoader = Box<dyn Fn() -> BoxFuture<'static, anyhow::Result<IssuerKeys>> + Send + Sync>;

/// The source of keys.
pub(super) enum Source {
    File(PathBuf),
    Url(reqwest::Client, Url),
    /// The system service at this base URL, which ends in a slash.
    System(reqwest::Client, Url),
    /// This service.
    Own(KeyLoader),
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
            Self::System(_, url) => {
                let url = without_credentials(url.clone());
                write!(f, "{url} of service.system_url (DROVER_SERVICE__SYSTEM_URL)")
            }
            Self::Own(_) => f.write_str("the keys of service accounts"),
            Self::Invalid(problems) => f.write_str(problems),
        }
    }
}

/// Minimum interval between fetches because of unknown keys.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(10);
/// The same for the keys of service accounts, which are part of the deployment. A token of an unknown key waits for the
/// next fetch, so that no token of a new key is refused.
const MIN_OWN_FETCH_INTERVAL: Duration = Duration::from_secs(1);
/// Keys are fetched again after this time, so that withdrawn keys are forgotten.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Interval between fetches until the first one succeeds.
const FIRST_FETCH_INTERVAL: Duration = Duration::from_secs(2);
/// Timeout of one fetch.
pub(super) const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// The most ids of keys in a line of the security log.
const MAX_LOGGED_KEYS: usize = 10;
/// Maximum size of a key set in bytes.
const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// The keys of a source. They are fetched again when a token names an unknown key.
pub(super) struct KeySet(Arc<Inner>);

struct Inner {
    source: Source,
    /// `auth.issuer`: the issuer of keys from a file or URL, and of no others.
    provider: Option<String>,
    keys: RwLock<Keys>,
    /// The start of the last fetch, successful or not; locked during a fetch. A failed reload leaves it unchanged.
    fetched_at: Arc<Mutex<Option<Instant>>>,
}

impl KeySet {
    /// Creates a set without keys. `provider` is `auth.issuer`.
    pub(super) fn new(source: Source, provider: Option<String>) -> Self {
        let inner = Inner { source, provider, keys: RwLock::default(), fetched_at: Arc::default() };
        // A service fetches the keys of its provider when it starts, and those of service accounts when a token needs
        // them.
        let fetched_at = (!inner.is_own()).then(Instant::now);
        Self(Arc::new(Inner { fetched_at: Arc::new(Mutex::new(fetched_at)), ..inner }))
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
            Source::Url(_, url) | Source::System(_, url) => {
                format!("{count} at {}", without_credentials(url.clone()))
            }
            Source::Own(_) => format!("{count} in the database"),
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
        let requested_at = Instant::now();
        let fetched_at = fetched_at.lock_owned().await;
        let fetch = match *fetched_at {
            _ if !self.0.is_own() => self.spawn_fetch(fetched_at, MIN_FETCH_INTERVAL),
            // A fetch for another request began after this one arrived, so its result is new enough.
            Some(at) if at >= requested_at => None,
            Some(at) => {
                tokio::time::sleep_until((at + MIN_OWN_FETCH_INTERVAL).into()).await;
                self.spawn_fetch(fetched_at, Duration::ZERO)
            }
            None => self.spawn_fetch(fetched_at, Duration::ZERO),
        };
        if let Some(fetch) = fetch {
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
    /// Returns true for keys of service accounts.
    fn is_own(&self) -> bool {
        matches!(self.source, Source::System(..) | Source::Own(_))
    }

    fn get(&self, kid: Option<&str>) -> Option<Arc<VerificationKey>> {
        let keys = self.keys.read();
        match kid {
            Some(kid) => keys.get(kid).cloned(),
            None if keys.len() == 1 => keys.values().next().cloned(),
            None => None,
        }
    }

    async fn fetch(&self) -> anyhow::Result<()> {
        let IssuerKeys { issuer, jwks } = self.load().await?;
        let keys = parse(&issuer, &jwks).with_context(|| format!("cannot use {}", self.source))?;
        let before = std::mem::replace(&mut *self.keys.write(), keys.clone());
        let difference = |of: &Keys, from: &Keys| {
            let kids = of.keys().filter(|kid| !from.contains_key(*kid)).take(MAX_LOGGED_KEYS);
            kids.map(|kid| plain_id(kid.clone())).collect::<Vec<_>>().join(" ")
        };
        let (added, removed) = (difference(&keys, &before), difference(&before, &keys));
        let has_changed = !added.is_empty() || !removed.is_empty();
        if has_changed && !before.is_empty() {
            crate::security_event!(
                "verification_keys_changed",
                issuer,
                added,
                removed,
                "the keys that verify tokens have changed"
            );
        }
        Ok(())
    }

    async fn load(&self) -> anyhow::Result<IssuerKeys> {
        let provider = || self.provider.clone().unwrap_or_default();
        let keys = match &self.source {
            Source::File(path) => {
                let jwks =
                    tokio::fs::read(path).await.with_context(|| format!("cannot read {}", self.source))?;
                return Ok(IssuerKeys { issuer: provider(), jwks });
            }
            Source::Url(client, url) => {
                return Ok(IssuerKeys { issuer: provider(), jwks: self.read(client, url).await? });
            }
            Source::System(client, url) => {
                let metadata = self.read(client, &url.join(METADATA_PATH)?).await?;
                let metadata: Metadata = serde_json::from_slice(&metadata)
                    .with_context(|| format!("{} has no metadata of service accounts", self.source))?;
                let jwks = self.read(client, &url.join(JWKS_PATH)?).await?;
                IssuerKeys { issuer: metadata.issuer, jwks }
            }
            Source::Own(load) => load().await?,
            Source::Invalid(problems) => bail!("{problems}"),
        };
        // Otherwise either of the two could issue the tokens of the other.
        ensure!(
            self.provider.as_ref() != Some(&keys.issuer),
            "system issues tokens with the issuer of the identity provider: change server.public_url \
             (DROVER_SERVER__PUBLIC_URL) of system or auth.issuer (DROVER_AUTH__ISSUER)"
        );
        Ok(keys)
    }

    /// Reads a document of at most [`MAX_DOCUMENT_BYTES`].
    async fn read(&self, client: &reqwest::Client, url: &Url) -> anyhow::Result<Vec<u8>> {
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
}

/// The path of the keys of service accounts below the base URL of system.
const JWKS_PATH: &str = ".well-known/jwks.json";
/// The path of the metadata of the authorization server (RFC 8414) below the base URL of system.
const METADATA_PATH: &str = ".well-known/oauth-authorization-server";

/// The part of the metadata that verification needs.
#[derive(serde::Deserialize)]
struct Metadata {
    issuer: String,
}

/// A JWKS document (RFC 7517).
#[derive(serde::Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

fn parse(issuer: &str, json: &[u8]) -> anyhow::Result<Keys> {
    let issuer = Arc::from(issuer);
    let set: Document = serde_json::from_slice(json).context("the key set is not a JWKS document")?;
    let mut keys = Keys::new();
    for value in set.keys {
        let kid = value["kid"].as_str().unwrap_or_default().to_owned();
        match serde_json::from_value(value).map_err(Into::into).and_then(|jwk| key(&jwk, &issuer)) {
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

fn key(jwk: &Jwk, issuer: &Arc<str>) -> anyhow::Result<VerificationKey> {
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
    Ok(VerificationKey { algorithm, decoding: DecodingKey::from_jwk(jwk)?, issuer: issuer.clone() })
}
