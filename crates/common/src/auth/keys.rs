//! Verification keys from a JWKS file or URL, kept in the process only.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use reqwest::Response;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::JoinHandle;
use url::{Host, Url};

use crate::config::shown::anonymous;

/// A key and the one algorithm it is good for: the token has no say in it.
pub(super) struct VerificationKey {
    pub(super) algorithm: Algorithm,
    pub(super) decoding: DecodingKey,
}

type Keys = HashMap<String, Arc<VerificationKey>>;

/// Where keys come from.
pub(super) enum Source {
    File(PathBuf),
    Url(reqwest::Client, Url),
}

impl Source {
    /// # Errors
    /// Whoever can change the keys on their way can sign any token: unencrypted they come from nearby only.
    pub(super) fn url(url: &Url) -> anyhow::Result<Self> {
        ensure!(
            url.scheme() == "https" || url.scheme() == "http" && is_near(url),
            "auth.jwks_url must be https:// (http:// only on this machine or within a private network: its addresses, or \
             names without a dot or under .localhost, .local, .internal and .svc)"
        );
        Ok(Self::Url(crate::clients::http::client(FETCH_TIMEOUT)?, url.clone()))
    }
}

fn is_near(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_private(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unique_local(),
        Some(Host::Domain(name)) => {
            let within = name.trim_end_matches('.').rsplit_once('.').map(|(_, end)| end);
            within.is_none_or(|end| ["localhost", "local", "internal", "svc"].contains(&end))
        }
        None => false,
    }
}

/// The keys of a source, read again when a token names one that is not there.
pub(super) struct KeySet(Arc<Inner>);

struct Inner {
    source: Source,
    keys: RwLock<Keys>,
    /// When the source was last asked; held while it is.
    asked: Arc<Mutex<Option<Instant>>>,
}

/// An unknown `kid` makes the source be asked at most this often.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(10);
/// A key that was withdrawn is forgotten after this long.
const LIFETIME: Duration = Duration::from_secs(600);
/// A source that takes longer for its answer has none.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// A key set is smaller than this many bytes.
const MAX_DOCUMENT_BYTES: usize = 1 << 20;

impl KeySet {
    /// Reads the keys once. A file must be readable; a URL may be out of reach for now.
    pub(super) async fn open(source: Source) -> anyhow::Result<Self> {
        let asked = Arc::new(Mutex::new(Some(Instant::now())));
        let set = Self(Arc::new(Inner { source, keys: RwLock::default(), asked }));
        match (set.0.read().await, &set.0.source) {
            (Err(error), Source::File(_)) => Err(error),
            (Err(error), Source::Url(..)) => {
                tracing::warn!(error = format!("{error:#}"), "no verification keys yet");
                Ok(set)
            }
            (Ok(()), _) => Ok(set),
        }
    }

    /// The key of that name; with no name, the only key.
    pub(super) async fn find(&self, kid: Option<&str>) -> Option<Arc<VerificationKey>> {
        let asked = self.0.asked.clone();
        match self.0.known(kid) {
            None => {
                if let Some(asking) = self.refresh(asked.lock_owned().await, MIN_FETCH_INTERVAL) {
                    let _ = asking.await;
                }
            }
            // A key at hand is good until the source says otherwise; nobody waits for the source meanwhile.
            Some(key) => {
                if let Ok(asked) = asked.try_lock_owned() {
                    self.refresh(asked, LIFETIME);
                }
                return Some(key);
            }
        }
        self.0.known(kid)
    }

    /// Reads the source now. What was known stays if it cannot be read.
    pub(super) async fn reload(&self) -> anyhow::Result<()> {
        let mut asked = self.0.asked.lock().await;
        self.0.read().await?;
        *asked = Some(Instant::now());
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.keys.read().map_or(true, |keys| keys.is_empty())
    }

    /// Begins to read the source, unless it was read less than `pause` ago.
    fn refresh(
        &self,
        mut asked: OwnedMutexGuard<Option<Instant>>,
        pause: Duration,
    ) -> Option<JoinHandle<()>> {
        if asked.is_some_and(|at| at.elapsed() < pause) {
            return None;
        }
        *asked = Some(Instant::now());
        let inner = self.0.clone();
        // A task of its own: a client that goes away must not break it off for all who wait.
        Some(tokio::spawn(async move {
            let _asked = asked;
            if let Err(error) = inner.read().await {
                tracing::warn!(error = format!("{error:#}"), "the verification keys could not be read again");
            }
        }))
    }
}

impl Inner {
    fn known(&self, kid: Option<&str>) -> Option<Arc<VerificationKey>> {
        let keys = self.keys.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        match kid {
            Some(kid) => keys.get(kid).cloned(),
            None if keys.len() == 1 => keys.values().next().cloned(),
            None => None,
        }
    }

    async fn read(&self) -> anyhow::Result<()> {
        let fresh = parse(&self.load().await?)?;
        *self.keys.write().unwrap_or_else(std::sync::PoisonError::into_inner) = fresh;
        Ok(())
    }

    async fn load(&self) -> anyhow::Result<Vec<u8>> {
        match &self.source {
            Source::File(path) => tokio::fs::read(path)
                .await
                .with_context(|| format!("cannot read the key file {} (auth.jwks_file)", path.display())),
            Source::Url(client, url) => {
                // The library's errors have the URL, whose query may be a secret.
                let failed = |error: reqwest::Error| {
                    let message = format!("cannot fetch {} (auth.jwks_url)", anonymous(url.clone()));
                    anyhow::Error::from(error.without_url()).context(message)
                };
                let response = client.get(url.clone()).send().await.and_then(Response::error_for_status);
                let mut response = response.map_err(failed)?;
                let mut bytes = Vec::new();
                while let Some(chunk) = response.chunk().await.map_err(failed)? {
                    bytes.extend_from_slice(&chunk);
                    ensure!(
                        bytes.len() <= MAX_DOCUMENT_BYTES,
                        "the key set has more than {MAX_DOCUMENT_BYTES} bytes"
                    );
                }
                Ok(bytes)
            }
        }
    }
}

/// The key set as it stands in JSON.
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
                keys.insert(kid, Arc::new(key));
            }
            // A provider may publish keys for other purposes beside those that sign tokens.
            Err(error) => tracing::info!(%error, kid, "a key of the key set is left out"),
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
        _ => bail!("only RSA, P-256 and Ed25519 keys are used"),
    };
    let stated = jwk.common.key_algorithm.unwrap_or(name);
    ensure!(stated == name, "it is for {stated}, which is not used");
    ensure!(jwk.common.public_key_use != Some(PublicKeyUse::Encryption), "it is for encryption");
    Ok(VerificationKey { algorithm, decoding: DecodingKey::from_jwk(jwk)? })
}
