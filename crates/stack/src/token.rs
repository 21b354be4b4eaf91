//! Development tokens, signed as an identity provider would.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::keys::DevKeys;

/// Issuer of development tokens.
pub const ISSUER: &str = "drover-dev";
/// Audience of development tokens.
pub const AUDIENCE: &str = "drover";

/// The claims about a user (docs/api/authentication.md).
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    /// User id.
    pub user: &'a str,
    /// Name of the user.
    pub name: Option<&'a str>,
    /// Id of the user's organisation.
    pub org: Option<&'a str>,
    /// Name of that organisation.
    pub org_name: Option<&'a str>,
    /// Roles. Only `admin` has a meaning.
    pub roles: &'a [String],
}

/// The role of administrators.
static ADMIN: LazyLock<[String; 1]> = LazyLock::new(|| ["admin".to_owned()]);

impl<'a> Identity<'a> {
    /// A user of an organisation, or an administrator without one.
    pub fn of_org(org: Option<&'a str>) -> Self {
        let roles: &[String] = if org.is_none() { &*ADMIN } else { &[] };
        Self { user: org.unwrap_or("admin"), name: None, org, org_name: None, roles }
    }

    /// Signs a token that is valid from now for `ttl`.
    pub fn token(&self, keys: &DevKeys, ttl: Duration) -> String {
        self.token_from(keys, 0, ttl)
    }

    /// Signs a token that is valid from `seconds` after now for `ttl`.
    pub fn token_from(&self, keys: &DevKeys, seconds: i64, ttl: Duration) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        keys.sign(&self.claims(now.saturating_add_signed(seconds), ttl))
    }

    fn claims(&self, now: u64, ttl: Duration) -> Value {
        let mut claims = Map::new();
        claims.insert("sub".into(), json!(self.user));
        for (claim, value) in [("name", self.name), ("org", self.org), ("orgName", self.org_name)] {
            if let Some(value) = value {
                claims.insert(claim.into(), json!(value));
            }
        }
        claims.insert("roles".into(), json!(self.roles));
        claims.insert("iss".into(), json!(ISSUER));
        claims.insert("aud".into(), json!(AUDIENCE));
        claims.insert("iat".into(), json!(now));
        claims.insert("nbf".into(), json!(now));
        claims.insert("exp".into(), json!(now.saturating_add(ttl.as_secs())));
        Value::Object(claims)
    }
}

/// Parses `90s`, `15m`, `1h` or `7d`.
pub fn parse_ttl(text: &str) -> Result<Duration, String> {
    let help = || format!("`{text}` is not a duration: write a whole number and s, m, h or d, such as 15m");
    let (number, unit) = text.split_at(text.len() - text.chars().last().map_or(0, char::len_utf8));
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(help()),
    };
    let number: u64 = number.parse().map_err(|_| help())?;
    // About a thousand years: `exp` cannot overflow.
    number
        .checked_mul(unit)
        .filter(|seconds| *seconds <= 365_000 * 86_400)
        .map(Duration::from_secs)
        .ok_or_else(|| format!("`{text}` is too long: choose at most 365000d"))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ed25519_dalek::{Signature, VerifyingKey};

    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("1h", 3600), ("7d", 604_800), ("0s", 0)] {
            assert_eq!(parse_ttl(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "h",
            "1",
            "1w",
            "-1h",
            "1.5h",
            "1é",
            "99999999999999999999d",
            "365001d",
            "18446744073709551615d",
        ] {
            assert!(parse_ttl(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_verifies_against_the_key_set() {
        let folder = tempfile::tempdir().unwrap();
        let keys = DevKeys::load_or_create(folder.path()).unwrap();
        let roles = ["admin".to_owned()];
        let who =
            Identity { user: "ruth", name: Some("Ruth"), org: Some("o"), org_name: None, roles: &roles };
        let token = who.token(&keys, Duration::from_secs(60));
        let parts: Vec<&str> = token.split('.').collect();
        let [header, claims, signature] = parts.as_slice() else { panic!("{token}") };

        let jwks = keys.jwks();
        let key = &jwks["keys"][0];
        let x = URL_SAFE_NO_PAD.decode(key["x"].as_str().unwrap()).unwrap();
        let public = VerifyingKey::from_bytes(&x.try_into().unwrap()).unwrap();
        let signature = Signature::from_slice(&URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        public.verify_strict(format!("{header}.{claims}").as_bytes(), &signature).unwrap();

        let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
        assert_eq!((&header["alg"], &header["kid"]), (&json!("EdDSA"), &key["kid"]));
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 60);
        assert_eq!((&claims["sub"], &claims["roles"]), (&json!("ruth"), &json!(["admin"])));
        assert!(claims.get("orgName").is_none());
    }
}
