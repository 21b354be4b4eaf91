//! Verification keys from a JWKS file or URL, kept in the process only.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey};

/// A key and the one algorithm it is good for: the token has no say in it.
pub(super) struct Key {
    pub(super) algorithm: Algorithm,
    pub(super) decoding: DecodingKey,
}

type Keys = HashMap<String, Arc<Key>>;

/// Where keys come from.
pub(super) enum Source {
    File(PathBuf),
    Url(reqwest::Client, url::Url),
}

/// The keys of a source, read again when a token names one that is not there.
pub(super) struct KeySet {
    source: Source,
    keys: RwLock<Keys>,
    /// When the source was last asked; held while it is.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

/// An unknown `kid` makes the source be asked at most this often.
const PAUSE: Duration = Duration::from_secs(10);
/// A key that was withdrawn is forgotten after this long.
const LIFETIME: Duration = Duration::from_secs(600);

impl KeySet {
    /// Reads the keys once. A file must be readable; a URL may be out of reach for now.
    pub(super) async fn open(source: Source) -> anyhow::Result<Self> {
        let set = Self { source, keys: RwLock::default(), asked: tokio::sync::Mutex::default() };
        match (set.refresh(PAUSE).await, &set.source) {
            (Err(error), Source::File(_)) => Err(error),
            (Err(error), Source::Url(..)) => {
                tracing::warn!(error = format!("{error:#}"), "no verification keys yet");
                Ok(set)
            }
            (Ok(()), _) => Ok(set),
        }
    }

    /// The key of that name; with no name, the only key.
    pub(super) async fn find(&self, kid: Option<&str>) -> Option<Arc<Key>> {
        let found = self.known(kid);
        let refreshed = self.refresh(if found.is_some() { LIFETIME } else { PAUSE }).await;
        if let Err(error) = refreshed {
            tracing::warn!(error = format!("{error:#}"), "the verification keys could not be read again");
        }
        found.or_else(|| self.known(kid))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.read().map_or(true, |keys| keys.is_empty())
    }

    fn known(&self, kid: Option<&str>) -> Option<Arc<Key>> {
        let keys = self.keys.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        match kid {
            Some(kid) => keys.get(kid).cloned(),
            None if keys.len() == 1 => keys.values().next().cloned(),
            None => None,
        }
    }

    /// Reads the source unless it was read less than `pause` ago.
    async fn refresh(&self, pause: Duration) -> anyhow::Result<()> {
        // Whoever comes while another asks does with the keys at hand, unless it needs one that is not there.
        let mut asked = if pause == LIFETIME {
            match self.asked.try_lock() {
                Ok(guard) => guard,
                Err(_) => return Ok(()),
            }
        } else {
            self.asked.lock().await
        };
        if asked.is_some_and(|at| at.elapsed() < pause) {
            return Ok(());
        }
        *asked = Some(Instant::now());
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
                let response = client.get(url.clone()).send().await?.error_for_status()?;
                Ok(response.bytes().await?.to_vec())
            }
        }
    }
}

fn parse(json: &[u8]) -> anyhow::Result<Keys> {
    let set: JwkSet = serde_json::from_slice(json).context("the key set is not a JWKS document")?;
    let mut keys = Keys::new();
    for jwk in &set.keys {
        match key(jwk) {
            Ok(key) => {
                keys.insert(jwk.common.key_id.clone().unwrap_or_default(), Arc::new(key));
            }
            // A provider may publish keys for other purposes beside those that sign tokens.
            Err(error) => tracing::info!(%error, kid = jwk.common.key_id, "a key of the key set is left out"),
        }
    }
    if keys.is_empty() {
        bail!("the key set has no RSA, P-256 or Ed25519 key");
    }
    Ok(keys)
}

fn key(jwk: &Jwk) -> anyhow::Result<Key> {
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(p) if p.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::OctetKeyPair(p) if p.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        _ => bail!("only RSA, P-256 and Ed25519 keys are used"),
    };
    Ok(Key { algorithm, decoding: DecodingKey::from_jwk(jwk)? })
}
