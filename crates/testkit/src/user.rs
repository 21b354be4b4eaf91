//! Test users and the key that signs their tokens.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};

/// The issuer that test services accept.
pub const ISSUER: &str = "drover-test";
/// The audience that test services are.
pub const AUDIENCE: &str = "drover";
pub(crate) const KID: &str = "test";

struct Keys {
    signing: SigningKey,
    jwks: PathBuf,
    _folder: tempfile::TempDir,
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let signing = SigningKey::from_bytes(&rand::random());
    let x = URL_SAFE_NO_PAD.encode(signing.verifying_key().as_bytes());
    let folder = tempfile::tempdir().unwrap();
    let jwks = folder.path().join("jwks.json");
    let set =
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": KID, "x": x}]});
    std::fs::write(&jwks, set.to_string()).unwrap();
    Keys { signing, jwks, _folder: folder }
});

/// The key of all test users.
pub(crate) fn key() -> &'static SigningKey {
    &KEYS.signing
}

/// A token of this header and these claims, signed by this key whatever the header says.
pub(crate) fn signed(header: &Value, claims: &Value, key: &SigningKey) -> String {
    signed_text(&header.to_string(), &claims.to_string(), key)
}

/// The same of texts, which may name a member twice.
pub(crate) fn signed_text(header: &str, claims: &str, key: &SigningKey) -> String {
    let parts = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let signature = URL_SAFE_NO_PAD.encode(key.sign(parts.as_bytes()).to_bytes());
    format!("{parts}.{signature}")
}

/// The JWKS file with the key of all test users.
pub fn jwks_file() -> &'static Path {
    &KEYS.jwks
}

/// Somebody who calls.
#[derive(Clone, Debug)]
pub struct User {
    /// The claims of the token, to be changed at will.
    pub claims: Value,
}

impl User {
    /// A user of this organisation; the names follow from the id.
    pub fn of(organisation: &str) -> Self {
        Self::individual(&format!("user-of-{organisation}"))
            .with("org", organisation)
            .with("orgName", &format!("Organisation {organisation}"))
    }

    /// A user who acts for nobody.
    pub fn individual(id: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({"sub": id, "name": format!("Name of {id}"), "iss": ISSUER, "aud": AUDIENCE, "exp": now + 3600});
        Self { claims }
    }

    /// An administrator without an organisation.
    pub fn admin() -> Self {
        let mut admin = Self::individual("admin");
        admin.claims["roles"] = json!(["admin"]);
        admin
    }

    /// The same user with another claim.
    #[must_use]
    pub fn with(mut self, claim: &str, value: &str) -> Self {
        self.claims[claim] = json!(value);
        self
    }

    /// The signed token.
    pub fn token(&self) -> String {
        signed(&json!({"alg": "EdDSA", "typ": "JWT", "kid": KID}), &self.claims, key())
    }
}
