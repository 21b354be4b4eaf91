//! The issuer of tokens of service accounts: its keys, its tokens (RFC 7519), and what it publishes of both (RFC 7517,
//! RFC 8414).

use anyhow::ensure;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use common::{Error, IssuerKeys, KeyLoader, SERVICE_ACCOUNT_PREFIX, ServiceContext};
use database::{Database, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::failures::FailureLimiter;
use super::model::AccountRow;
use crate::keys::{SigningKey, list_keys, signing_key};

/// How long a token is valid, in seconds.
pub(super) const TOKEN_SECONDS: i64 = 600;
/// How long a key verifies tokens after it was replaced.
const VERIFICATION_TIME: TimeDelta = TimeDelta::hours(24);
/// The purpose for which the seed of a signing key is derived.
const PURPOSE: &str = "drover tokens of service accounts";

/// Issues tokens to service accounts.
pub(crate) struct Issuer {
    /// The issuer (`iss`) of the tokens: the public URL of this service.
    url: String,
    /// `auth.audience`.
    audience: String,
    /// Counts failed requests for tokens.
    pub(super) failures: FailureLimiter,
    is_enabled: bool,
}

impl Issuer {
    /// Creates the issuer, and makes the service accept its tokens.
    ///
    /// # Errors
    /// Fails if the identity provider has the same issuer. The message names the settings.
    pub(crate) fn open(context: &ServiceContext) -> anyhow::Result<Self> {
        let is_enabled = context.auth.service_accounts != Some(false);
        ensure!(
            !is_enabled || context.auth.issuer.as_ref() != Some(&context.public_url),
            "server.public_url (DROVER_SERVER__PUBLIC_URL) is the issuer of the tokens of service accounts, and must not be \
             auth.issuer (DROVER_AUTH__ISSUER): change it, or set auth.service_accounts \
             (DROVER_AUTH__SERVICE_ACCOUNTS) to false"
        );
        context.verifier.accept_own_service_accounts(key_loader(&context.db, &context.public_url));
        Ok(Self {
            url: context.public_url.clone(),
            audience: context.auth.audience.clone().unwrap_or_default(),
            failures: FailureLimiter::new(),
            is_enabled,
        })
    }

    /// Checks that this deployment has service accounts.
    ///
    /// # Errors
    /// 404 if `auth.service_accounts` is off.
    pub(super) fn check_enabled(&self) -> Result<(), Error> {
        if self.is_enabled { Ok(()) } else { Err(Error::NotFound) }
    }

    /// Returns a token for a service account.
    ///
    /// # Errors
    /// 503 if the database is unavailable.
    pub(super) async fn token(&self, db: &Database, account: &AccountRow) -> Result<String, Error> {
        let key = TokenKey::of(&signing_key(db).await?)?;
        let now = Timestamp::now().millis() / 1000;
        let mut claims = json!({
            "iss": self.url,
            "aud": self.audience,
            "sub": format!("{SERVICE_ACCOUNT_PREFIX}{}", account.id),
            "name": account.name,
            "org": account.organisation_id,
            "roles": account.roles()?,
            "iat": now,
            "exp": now + TOKEN_SECONDS,
        });
        if let Some(name) = &account.organisation_name {
            claims["orgName"] = json!(name);
        }
        Ok(key.sign(&claims))
    }

    /// Returns the metadata of the authorization server (RFC 8414).
    pub(super) fn metadata(&self) -> Value {
        json!({
            "issuer": self.url,
            "token_endpoint": format!("{}/v1/token", self.url),
            "jwks_uri": format!("{}/.well-known/jwks.json", self.url),
            "grant_types_supported": ["client_credentials"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "response_types_supported": [],
            "service_documentation": format!("{}/docs/guide/authentication", self.url),
        })
    }
}

/// Returns the keys that verify tokens, as a JWKS document (RFC 7517).
///
/// # Errors
/// 503 if the database is unavailable.
pub(super) async fn key_set(db: &Database) -> Result<Value, Error> {
    let since = Timestamp::now().plus(-VERIFICATION_TIME);
    let keys = db.read(move |c| list_keys(c, since)).await?;
    let keys: Vec<_> =
        keys.iter().map(|key| Ok(TokenKey::of(key)?.public())).collect::<Result<_, Error>>()?;
    Ok(json!({ "keys": keys }))
}

fn key_loader(db: &Database, issuer: &str) -> KeyLoader {
    let (db, issuer) = (db.clone(), issuer.to_owned());
    Box::new(move || {
        let (db, issuer) = (db.clone(), issuer.clone());
        Box::pin(async move { Ok(IssuerKeys { issuer, jwks: key_set(&db).await?.to_string().into_bytes() }) })
    })
}

/// A key that signs tokens with Ed25519 (RFC 8037).
struct TokenKey(Ed25519KeyPair);

impl TokenKey {
    /// Derives the key from a key of the service.
    fn of(key: &SigningKey) -> Result<Self, Error> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&key.derive(PURPOSE));
        pair.map(Self).map_err(|error| Error::Internal(anyhow::anyhow!("no key from a seed: {error}")))
    }

    /// Returns the public key in base64url.
    fn x(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref())
    }

    /// Returns the id of the key: its thumbprint (RFC 7638), so that two keys never have the same id.
    fn id(&self) -> String {
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, self.x());
        URL_SAFE_NO_PAD.encode(Sha256::digest(members))
    }

    /// Returns the public key as a JWK.
    fn public(&self) -> Value {
        json!({
            "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": self.id(), "x": self.x(),
        })
    }

    /// Returns a token with these claims.
    fn sign(&self, claims: &Value) -> String {
        let header = json!({ "alg": "EdDSA", "typ": "JWT", "kid": self.id() });
        let signed = [&header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = URL_SAFE_NO_PAD.encode(self.0.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: u8) -> TokenKey {
        TokenKey::of(&SigningKey { number: 1, secret: vec![secret; 32], replaced_at: None }).unwrap()
    }

    #[test]
    fn ids_of_keys_are_their_thumbprints() {
        // RFC 8037, appendix A.
        let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        let key = TokenKey(Ed25519KeyPair::from_seed_unchecked(&seed).unwrap());
        assert_eq!(key.x(), "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        assert_eq!(key.id(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn keys_follow_from_the_secret_and_do_not_contain_it() {
        assert_eq!(key(7).id(), key(7).id());
        assert_ne!(key(7).id(), key(8).id());
        let plain = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        assert_ne!(key(7).x(), TokenKey(plain).x(), "the secret of links is not the seed");
    }
}
