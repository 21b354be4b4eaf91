//! Verification of bearer tokens.

use std::sync::Arc;

use actix_web::http::header::{self, HeaderMap};
use jsonwebtoken::{Algorithm, Validation, decode, decode_header, errors::ErrorKind, get_current_timestamp};
use serde_json::Value;

use super::identity::Identity;
use super::keys::{KeySet, Source};
use super::strict::{UniqueMembers, check_header, is_duplicate};
use super::token_cache::{TokenCache, VerifiedToken, digest};
use super::{AuthError, Caller};
use crate::config::{Auth, Claims};
use crate::telemetry::context::RequestContext;

/// Verifies tokens with the configured keys, issuer and audience.
pub struct Verifier {
    keys: KeySet,
    /// The requirements for each algorithm.
    validations: [Validation; 3],
    /// Accepted difference between clocks in seconds.
    leeway: u64,
    claims: Claims,
    cache: TokenCache,
}

impl Verifier {
    /// Creates a verifier and fetches its keys. A URL may be unavailable.
    ///
    /// # Errors
    /// Fails if a setting is missing or invalid, or if the key file cannot be read. The message names the setting.
    pub async fn open(config: &Auth) -> anyhow::Result<Self> {
        let verifier = Self::new(config)?;
        verifier.keys.open().await?;
        Ok(verifier)
    }

    /// Creates a verifier without keys. If settings are missing or invalid, no token is valid, and fetching the keys
    /// fails with what to change as the message.
    ///
    /// # Errors
    /// Fails if no HTTP client can be built.
    pub(crate) fn new(config: &Auth) -> anyhow::Result<Self> {
        let source = Source::of(config)?;
        let (issuer, audience) = (config.issuer.as_slice(), config.audience.as_slice());
        let validation = |algorithm| {
            let mut validation = Validation::new(algorithm);
            validation.leeway = config.leeway_seconds;
            validation.validate_nbf = true;
            // `sub` is not among them, since the claim of the user id is configurable.
            validation.set_required_spec_claims(&["exp", "iss", "aud"]);
            validation.set_issuer(issuer);
            validation.set_audience(audience);
            validation
        };
        Ok(Self {
            keys: KeySet::new(source),
            validations: [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA].map(validation),
            leeway: config.leeway_seconds,
            claims: config.claims.clone(),
            cache: TokenCache::default(),
        })
    }

    /// Fetches the keys again, regardless of the minimum interval.
    ///
    /// # Errors
    /// Fails if the source cannot be read. The present keys then stay in use.
    pub async fn reload(&self) -> anyhow::Result<()> {
        self.keys.reload().await
    }

    /// Returns true once the keys were loaded.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Fetches the keys until that succeeded once.
    pub(crate) async fn fetch_first_keys(&self) {
        self.keys.fetch_first().await;
    }

    /// Loads the keys for `check-config`. Returns what was found, for people.
    ///
    /// # Errors
    /// Fails if a setting is missing or invalid, or if the source cannot be read. The message names the setting.
    pub(crate) async fn check(&self) -> anyhow::Result<String> {
        self.keys.reload().await?;
        Ok(self.keys.describe())
    }

    /// Returns true if the keys are fetched from a URL.
    pub(crate) fn has_remote_keys(&self) -> bool {
        self.keys.is_remote()
    }

    /// Returns the caller that the token in the `Authorization` header identifies.
    pub(crate) async fn authenticate(
        &self,
        headers: &HeaderMap,
        request: RequestContext,
    ) -> Result<Caller, AuthError> {
        let mut values = headers.get_all(header::AUTHORIZATION);
        let Some(value) = values.next() else { return Err(AuthError::NoToken) };
        if values.next().is_some() {
            return Err(AuthError::BadToken("there are several Authorization headers"));
        }
        let token = value
            .to_str()
            .ok()
            .and_then(|v| v.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .ok_or(AuthError::BadToken("the scheme must be Bearer"))?;
        let identity = self.verify(token).await?.identity.clone();
        Ok(Caller {
            user_id: identity.id,
            user_name: identity.name,
            organisation: identity.organisation,
            admin: identity.admin,
            token: token.into(),
            request,
        })
    }

    /// Verifies a token, unless it is in the cache and still valid.
    async fn verify(&self, token: &str) -> Result<Arc<VerifiedToken>, AuthError> {
        let digest = digest(token);
        let cached = self.cache.get(&digest);
        let kid = if let Some(cached) = &cached {
            cached.kid.clone()
        } else {
            check_header(token)?;
            decode_header(token).map_err(|_| AuthError::BadToken("the token cannot be read"))?.kid
        };
        let Some(key) = self.keys.find(kid.as_deref()).await else {
            return Err(if self.keys.is_empty() {
                AuthError::NoKeys
            } else {
                AuthError::BadToken("the key is unknown")
            });
        };
        let is_valid =
            |cached: &Arc<VerifiedToken>| cached.is_valid(&key, get_current_timestamp(), self.leeway);
        if let Some(cached) = cached.filter(is_valid) {
            return Ok(cached);
        }
        let validation = self.validations.iter().find(|v| v.algorithms == [key.algorithm]);
        let validation = validation.ok_or(AuthError::BadToken("the key is of another algorithm"))?;
        let claims = decode::<UniqueMembers>(token, &key.decoding, validation)
            .map_err(|error| AuthError::BadToken(reason(error.kind())))?
            .claims
            .0;
        // RFC 7519, section 4.1.1, defines one issuer. The library also accepts an array that contains it.
        if !claims.get("iss").is_some_and(Value::is_string) {
            return Err(AuthError::BadToken("the issuer is not a string"));
        }
        // Tokens whose times are not whole seconds are valid for this request, but never from the cache.
        let not_before = claims.get("nbf").map_or(0, |nbf| nbf.as_u64().unwrap_or(u64::MAX));
        let expires_at = claims.get("exp").and_then(Value::as_u64).unwrap_or(0);
        let identity = Identity::from_claims(&claims, &self.claims)?;
        let verified = Arc::new(VerifiedToken { kid, key, not_before, expires_at, identity });
        self.cache.insert(digest, verified.clone());
        Ok(verified)
    }
}

/// Returns the reason for a client why a token is invalid.
fn reason(error: &ErrorKind) -> &'static str {
    match error {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::InvalidIssuer => "the token is from another issuer",
        ErrorKind::MissingRequiredClaim(_) => "the token lacks a claim",
        ErrorKind::InvalidAlgorithm => "the token uses another algorithm than its key",
        ErrorKind::InvalidClaimFormat(_) => "a claim has the wrong type",
        ErrorKind::Json(error) if is_duplicate(error) => "the token names a claim twice",
        ErrorKind::Json(_) => "the claims cannot be read",
        _ => "the signature is wrong",
    }
}
