//! Verification of the bearer tokens of two issuers: the identity provider, and the system service for service
//! accounts.

use std::sync::{Arc, OnceLock};

use actix_web::http::header::{self, HeaderMap, HeaderValue};
use anyhow::ensure;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header, errors::ErrorKind, get_current_timestamp};
use serde_json::Value;
use url::Url;

use super::identity::{Identity, SERVICE_ACCOUNT_PREFIX};
use super::keys::{FETCH_TIMEOUT, KeyLoader, KeySet, Source};
use super::settings::is_trusted;
use super::strict::{check_header, stated_issuer};
use super::token_cache::{TokenCache, VerifiedToken, digest};
use super::{AuthError, Caller};
use crate::config::{Auth, Claims};
use crate::telemetry::context::RequestContext;
use crate::telemetry::security::plain_id;
use crate::wire::{UniqueMembers, is_duplicate};

/// Verifies tokens with the configured keys, issuer and audience. Only the keys of its issuer verify a token.
pub struct Verifier {
    /// The keys of the identity provider.
    keys: KeySet,
    /// The keys of service accounts, where these are accepted.
    service_accounts: OnceLock<KeySet>,
    /// Whether service accounts are accepted; by default they are, once their keys have a source.
    accepts_service_accounts: Option<bool>,
    /// `auth.issuer`.
    provider: Option<String>,
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
        let audience = config.audience.as_slice();
        let validation = |algorithm| {
            let mut validation = Validation::new(algorithm);
            validation.leeway = config.leeway_seconds;
            validation.validate_nbf = true;
            // `sub` is not among them, since the claim of the user id is configurable.
            validation.set_required_spec_claims(&["exp", "iss", "aud"]);
            // The issuer is that of the key: see `verify`.
            validation.set_audience(audience);
            validation
        };
        Ok(Self {
            keys: KeySet::new(source, config.issuer.clone()),
            service_accounts: OnceLock::new(),
            accepts_service_accounts: config.service_accounts,
            provider: config.issuer.clone(),
            validations: [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA].map(validation),
            leeway: config.leeway_seconds,
            claims: config.claims.clone(),
            cache: TokenCache::default(),
        })
    }

    /// Accepts tokens of service accounts from now on, unless `auth.service_accounts` is off. The system service at
    /// `system_url` issues them and publishes their keys, which are fetched when a token needs them.
    ///
    /// # Errors
    /// Fails if `auth.service_accounts` is on and others could change the keys in transit. Without the setting, service
    /// accounts are then not accepted.
    pub fn accept_service_accounts_of(&self, system_url: &str) -> anyhow::Result<()> {
        if self.accepts_service_accounts == Some(false) {
            return Ok(());
        }
        let url: Url = format!("{}/", system_url.trim_end_matches('/')).parse()?;
        if !is_trusted(&url) {
            let message = "service.system_url (DROVER_SERVICE__SYSTEM_URL) must be https:// or in a private network for \
                           tokens of service accounts: change it, or set auth.service_accounts \
                           (DROVER_AUTH__SERVICE_ACCOUNTS) to false";
            ensure!(self.accepts_service_accounts.is_none(), message);
            tracing::warn!(reason = message, "tokens of service accounts are not accepted");
            return Ok(());
        }
        let client = crate::http::client(FETCH_TIMEOUT)?;
        self.set_service_accounts(Source::System(client, url));
        Ok(())
    }

    /// Accepts tokens of service accounts that this service issues itself, unless `auth.service_accounts` is off.
    pub fn accept_own_service_accounts(&self, load: KeyLoader) {
        if self.accepts_service_accounts != Some(false) {
            self.set_service_accounts(Source::Own(load));
        }
    }

    fn set_service_accounts(&self, source: Source) {
        // A second source is ignored: services name theirs once.
        let _ = self.service_accounts.set(KeySet::new(source, self.provider.clone()));
    }

    /// Loads the keys of service accounts for `check-config`. Returns what was found, for people, or `None` if service
    /// accounts are not accepted.
    ///
    /// # Errors
    /// Fails if the keys cannot be read.
    pub(crate) async fn check_service_accounts(&self) -> Option<anyhow::Result<String>> {
        let keys = self.service_accounts.get()?;
        Some(keys.reload().await.map(|()| keys.describe()))
    }

    /// Fetches the keys again, regardless of the minimum interval.
    ///
    /// # Errors
    /// Fails if the source cannot be read. The present keys then stay in use.
    pub async fn reload(&self) -> anyhow::Result<()> {
        self.keys.reload().await?;
        match self.service_accounts.get() {
            Some(keys) => keys.reload().await,
            None => Ok(()),
        }
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
        let token = bearer_token(value).ok_or(AuthError::BadToken("the scheme must be Bearer"))?;
        let verified = self.verify(token).await?;
        let identity = verified.identity.clone();
        Ok(Caller {
            user_id: identity.id,
            user_name: identity.name,
            organisation: identity.organisation,
            admin: identity.admin,
            roles: identity.roles,
            is_service_account: identity.is_service_account,
            expires_at: verified.expires_at,
            token: token.into(),
            request,
        })
    }

    /// Verifies a token, unless it is in the cache and still valid.
    async fn verify(&self, token: &str) -> Result<Arc<VerifiedToken>, AuthError> {
        let digest = digest(token);
        let cached = self.cache.get(&digest);
        let (kid, is_service_account) = if let Some(cached) = &cached {
            (cached.kid.clone(), cached.identity.is_service_account)
        } else {
            check_header(token)?;
            let header = decode_header(token).map_err(|_| AuthError::BadToken("the token cannot be read"))?;
            (header.kid, self.is_of_other_issuer(token))
        };
        let service_accounts = self.service_accounts.get().filter(|_| is_service_account);
        let keys = service_accounts.unwrap_or(&self.keys);
        let Some(key) = keys.find(kid.as_deref()).await else {
            return Err(match (keys.is_empty(), service_accounts.is_some()) {
                (true, false) => AuthError::NoKeys("The identity provider"),
                (true, true) if states_service_account(token) => AuthError::NoKeys("The system service"),
                (true, true) => AuthError::BadToken(OTHER_ISSUER),
                (false, _) => AuthError::BadToken("the key is unknown"),
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
        // RFC 7519, section 4.1.1, defines one issuer, so an array that contains it is refused.
        match claims.get("iss") {
            Some(Value::String(issuer)) if **issuer == *key.issuer => {}
            Some(Value::String(_)) => return Err(AuthError::BadToken(OTHER_ISSUER)),
            _ => return Err(AuthError::BadToken("the issuer is not a string")),
        }
        // Tokens whose times are not whole seconds are valid for this request, but never from the cache.
        let not_before = claims.get("nbf").map_or(0, |nbf| nbf.as_u64().unwrap_or(u64::MAX));
        let expires_at = claims.get("exp").and_then(Value::as_u64).unwrap_or(0);
        let identity = match service_accounts {
            Some(_) => Identity::of_service_account(&claims)?,
            None => Identity::from_claims(&claims, &self.claims)?,
        };
        let verified = Arc::new(VerifiedToken { kid, key, not_before, expires_at, identity });
        self.cache.insert(digest, verified.clone());
        Ok(verified)
    }

    /// Returns true if a token states another issuer than the identity provider, so that it may be a service account's.
    fn is_of_other_issuer(&self, token: &str) -> bool {
        self.service_accounts.get().is_some()
            && stated_issuer(token).is_some_and(|(issuer, _)| Some(issuer) != self.provider)
    }
}

/// Returns the token in a value of `Authorization`.
fn bearer_token(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// The key and the issuer that a refused token states, for the security log. Nothing of it is verified.
pub(crate) struct StatedKey {
    pub(crate) issuer: Option<String>,
    pub(crate) kid: Option<String>,
}

impl StatedKey {
    /// Reads what the token of a request states.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let token = headers.get(header::AUTHORIZATION).and_then(bearer_token);
        let issuer = token.and_then(stated_issuer).map(|(issuer, _)| issuer);
        let kid = token.and_then(|token| decode_header(token).ok()?.kid);
        Self { issuer: issuer.map(plain_id), kid: kid.map(plain_id) }
    }
}

const OTHER_ISSUER: &str = "the token is from another issuer";

/// Returns true if a token states the user id of a service account.
fn states_service_account(token: &str) -> bool {
    stated_issuer(token).is_some_and(|(_, user)| user.starts_with(SERVICE_ACCOUNT_PREFIX))
}

/// Returns the reason for a client why a token is invalid.
fn reason(error: &ErrorKind) -> &'static str {
    match error {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::InvalidIssuer => OTHER_ISSUER,
        ErrorKind::MissingRequiredClaim(_) => "the token lacks a claim",
        ErrorKind::InvalidAlgorithm => "the token uses another algorithm than its key",
        ErrorKind::InvalidClaimFormat(_) => "a claim has the wrong type",
        ErrorKind::Json(error) if is_duplicate(error) => "the token names a claim twice",
        ErrorKind::Json(_) => "the claims cannot be read",
        _ => "the signature is wrong",
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ed25519_dalek::{Signer, SigningKey};
    use serde_json::json;
    use testkit::{AUDIENCE, ISSUER, User};
    use wiremock::matchers::path;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;
    use crate::auth::Role;

    /// The key id of the identity provider's key.
    const PROVIDER_KEY: &str = "test";
    const SYSTEM: &str = "https://system.example";

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    /// Publishes the keys of service accounts, each with its id, in place of earlier ones.
    async fn publish(server: &MockServer, issuer: &str, keys: &[(&str, SigningKey)]) {
        server.reset().await;
        let key = |(kid, key): &(&str, SigningKey)| {
            let x = URL_SAFE_NO_PAD.encode(key.verifying_key().as_bytes());
            json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x})
        };
        let set = json!({"keys": keys.iter().map(key).collect::<Vec<_>>()});
        for (name, document) in
            [("oauth-authorization-server", json!({ "issuer": issuer })), ("jwks.json", set)]
        {
            let response = ResponseTemplate::new(200).set_body_json(document);
            Mock::given(path(format!("/.well-known/{name}"))).respond_with(response).mount(server).await;
        }
    }

    async fn verifier(change: impl FnOnce(&mut Auth)) -> Verifier {
        let mut config = Auth {
            jwks_file: Some(testkit::jwks_file().to_owned()),
            issuer: Some(ISSUER.into()),
            audience: Some(AUDIENCE.into()),
            ..Auth::default()
        };
        change(&mut config);
        Verifier::open(&config).await.unwrap()
    }

    /// Returns a token of a service account with these members changed.
    fn token(kid: &str, key: &SigningKey, members: &Value) -> String {
        let mut claims = User::of("farm").claims;
        claims["iss"] = json!(SYSTEM);
        claims["sub"] = json!("service-account:1");
        for (name, value) in members.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let header = json!({"alg": "EdDSA", "kid": kid});
        let signed = [&header, &claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()).to_bytes());
        format!("{signed}.{signature}")
    }

    /// Returns the reason why a token is refused.
    async fn refusal(verifier: &Verifier, token: &str) -> &'static str {
        match verifier.verify(token).await.err() {
            None => "valid",
            Some(AuthError::BadToken(reason)) => reason,
            Some(AuthError::NoKeys(source)) => source,
            Some(AuthError::NoToken) => "no token",
        }
    }

    #[test]
    fn only_the_keys_of_its_issuer_verify_a_token() {
        testkit::block_on(async {
            let system = MockServer::start().await;
            // With the key id of the identity provider.
            publish(&system, SYSTEM, &[(PROVIDER_KEY, key(1)), ("a", key(2))]).await;
            let verifier = verifier(|_| ()).await;
            let provider = User::of("farm");
            assert_eq!(refusal(&verifier, &token("a", &key(2), &json!({}))).await, "the key is unknown");
            verifier.accept_service_accounts_of(&format!("{}/", system.uri())).unwrap();
            for (kid, key) in [(PROVIDER_KEY, key(1)), ("a", key(2))] {
                let token = token(kid, &key, &json!({"roles": ["viewer", "admin"]}));
                for _ in 0..2 {
                    let identity = verifier.verify(&token).await.ok().unwrap().identity.clone();
                    assert_eq!((identity.admin, identity.roles), (false, vec![Role::Viewer]));
                    assert!(identity.is_service_account);
                }
            }
            assert!(!verifier.verify(&provider.token()).await.ok().unwrap().identity.is_service_account);
            let reserved = "its user id is reserved for service accounts";
            for (token, reason) in [
                (provider.clone().with("iss", SYSTEM).token(), "the signature is wrong"),
                (provider.clone().with("sub", "service-account:1").token(), reserved),
                (provider.token_with_kid("a"), "the key is unknown"),
                (token(PROVIDER_KEY, &key(1), &json!({"iss": ISSUER})), "the signature is wrong"),
                (token("a", &key(2), &json!({"iss": ISSUER})), "the key is unknown"),
                (token("a", &key(2), &json!({"iss": "https://other.example"})), OTHER_ISSUER),
                (token("a", &key(2), &json!({"iss": [SYSTEM]})), "the key is unknown"),
                (token("a", &key(2), &json!({"aud": "other"})), "the token is for another audience"),
                (token("a", &key(2), &json!({"exp": 1})), "the token has expired"),
                (token("a", &key(2), &json!({"sub": "ann"})), "its user id is not that of a service account"),
                (token("b", &key(2), &json!({})), "the key is unknown"),
            ] {
                assert_eq!(refusal(&verifier, &token).await, reason, "{token}");
            }
        });
    }

    #[test]
    fn keys_are_fetched_again_when_a_token_names_an_unknown_one() {
        testkit::block_on(async {
            let system = MockServer::start().await;
            let verifier = verifier(|_| ()).await;
            verifier.accept_service_accounts_of(&system.uri()).unwrap();
            let (old, new) = (token("a", &key(1), &json!({})), token("b", &key(2), &json!({})));
            assert_eq!(refusal(&verifier, &old).await, "The system service", "it is older, or away");
            let stranger = User::of("farm").with("iss", "https://other.example").token();
            assert_eq!(refusal(&verifier, &stranger).await, OTHER_ISSUER);
            publish(&system, SYSTEM, &[("a", key(1))]).await;
            assert_eq!(refusal(&verifier, &old).await, "valid");
            publish(&system, SYSTEM, &[("b", key(2)), ("a", key(1))]).await;
            // Tokens of unknown keys delay those of new keys by a second at most, and cause one fetch together.
            let unknown = token("c", &key(3), &json!({}));
            let attack = (0..20).map(|_| refusal(&verifier, &unknown));
            let (reasons, reason) =
                tokio::join!(futures_util::future::join_all(attack), refusal(&verifier, &new));
            assert_eq!(reason, "valid");
            assert!(reasons.iter().all(|reason| *reason == "the key is unknown"));
            let requests = system.received_requests().await.unwrap();
            assert!(requests.len() <= 4, "{}", requests.len());
            assert_eq!(refusal(&verifier, &old).await, "valid");
            // The keys stay in use while system is away.
            system.reset().await;
            assert_eq!(refusal(&verifier, &unknown).await, "the key is unknown");
            assert_eq!(refusal(&verifier, &new).await, "valid");
        });
    }

    #[test]
    fn system_must_be_another_issuer_and_its_keys_safe_in_transit() {
        testkit::block_on(async {
            let system = MockServer::start().await;
            publish(&system, ISSUER, &[("a", key(1))]).await;
            let same = verifier(|_| ()).await;
            same.accept_service_accounts_of(&system.uri()).unwrap();
            let of_provider = token("a", &key(1), &json!({"iss": ISSUER}));
            assert_eq!(refusal(&same, &of_provider).await, "the key is unknown");
            let error = format!("{:#}", same.check_service_accounts().await.unwrap().err().unwrap());
            assert!(error.contains("auth.issuer (DROVER_AUTH__ISSUER)"), "{error}");

            let public = "http://system.example";
            let by_default = verifier(|_| ()).await;
            by_default.accept_service_accounts_of(public).unwrap();
            assert!(by_default.check_service_accounts().await.is_none());
            let demanded = verifier(|config| config.service_accounts = Some(true)).await;
            let error = demanded.accept_service_accounts_of(public).err().unwrap().to_string();
            assert!(
                error.contains("service.system_url") && error.contains("auth.service_accounts"),
                "{error}"
            );
            let off = verifier(|config| config.service_accounts = Some(false)).await;
            off.accept_service_accounts_of(&system.uri()).unwrap();
            assert!(off.check_service_accounts().await.is_none());
        });
    }
}
