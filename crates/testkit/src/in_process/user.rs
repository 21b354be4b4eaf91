//! Test users and the key that signs their tokens.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::pkcs8::EncodePrivateKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};

/// The issuer (`iss`) that test services accept.
pub const ISSUER: &str = "drover-test";
/// The audience (`aud`) that test services accept.
pub const AUDIENCE: &str = "drover";
/// The key id (`kid`) of the test key.
pub(crate) const KID: &str = "test";

struct Keys {
    signing: SigningKey,
    jwks: PathBuf,
    _directory: tempfile::TempDir,
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let signing = SigningKey::from_bytes(&rand::random());
    let x = URL_SAFE_NO_PAD.encode(signing.verifying_key().as_bytes());
    let directory = tempfile::tempdir().unwrap();
    let jwks = directory.path().join("jwks.json");
    let set =
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": KID, "x": x}]});
    std::fs::write(&jwks, set.to_string()).unwrap();
    Keys { signing, jwks, _directory: directory }
});

/// Returns the key that signs the tokens of all test users.
pub(crate) fn key() -> &'static SigningKey {
    &KEYS.signing
}

/// Returns a token with this header and these claims, signed with Ed25519 by `key` even if the header names another
/// algorithm or key.
pub(crate) fn signed(header: &Value, claims: &Value, key: &SigningKey) -> String {
    signed_text(&header.to_string(), &claims.to_string(), key)
}

/// Like [`signed`], from JSON texts, which may contain duplicate members.
pub(crate) fn signed_text(header: &str, claims: &str, key: &SigningKey) -> String {
    let parts = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let signature = URL_SAFE_NO_PAD.encode(key.sign(parts.as_bytes()).to_bytes());
    format!("{parts}.{signature}")
}

/// Returns the path of a JWKS file with the public key of all test users.
pub fn jwks_file() -> &'static Path {
    &KEYS.jwks
}

/// Returns the key of all test users as PEM, for programs that sign tokens themselves.
pub fn key_pem() -> String {
    key().to_pkcs8_pem(LineEnding::LF).unwrap().to_string()
}

/// A user who calls a service.
#[derive(Clone, Debug)]
pub struct User {
    /// The claims of the token. Tests may change them.
    pub claims: Value,
}

impl User {
    /// Creates a user `user-of-ID` of the organisation `ID`, whose name is `Organisation ID`.
    pub fn of(organisation: &str) -> Self {
        Self::individual(&format!("user-of-{organisation}"))
            .with("org", organisation)
            .with("orgName", &format!("Organisation {organisation}"))
    }

    /// Creates a user without an organisation.
    pub fn individual(id: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({"sub": id, "name": format!("Name of {id}"), "iss": ISSUER, "aud": AUDIENCE, "exp": now + 3600});
        Self { claims }
    }

    /// Creates an administrator without an organisation.
    pub fn admin() -> Self {
        let mut admin = Self::individual("admin");
        admin.claims["roles"] = json!(["admin"]);
        admin
    }

    /// Sets the roles.
    #[must_use]
    pub fn with_roles(mut self, roles: &[&str]) -> Self {
        self.claims["roles"] = json!(roles);
        self
    }

    /// Sets a claim to a string.
    #[must_use]
    pub fn with(mut self, claim: &str, value: &str) -> Self {
        self.claims[claim] = json!(value);
        self
    }

    /// Returns a signed token, valid for an hour from the user's creation.
    pub fn token(&self) -> String {
        self.token_with_kid(KID)
    }

    /// Returns a token that names another key than the one that signs it.
    pub fn token_with_kid(&self, kid: &str) -> String {
        signed(&json!({"alg": "EdDSA", "typ": "JWT", "kid": kid}), &self.claims, key())
    }
}
