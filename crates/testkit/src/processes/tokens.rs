//! Development keys, tokens and the secret of webhooks, in a data folder. Never used in production.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey, KeypairBytes};
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

/// The private key, relative to the data folder.
pub const PEM_FILE: &str = "auth/dev-ed25519.pem";
/// The public key as services read it, relative to the data folder.
pub const JWKS_FILE: &str = "auth/jwks.json";

/// The key pair of one data folder.
#[derive(Debug)]
pub struct DevKeys {
    signing: SigningKey,
    /// Whether this call created the pair.
    pub created: bool,
}

impl DevKeys {
    /// Reads the pair of a data folder, or creates one. Two processes that do so at once get the same pair.
    pub fn load_or_create(data: &Path) -> Result<Self> {
        let pem = data.join(PEM_FILE);
        let keys = match read(&pem)? {
            Some(signing) => Self { signing, created: false },
            None => create(&pem)?,
        };
        keys.write_jwks(&data.join(JWKS_FILE))?;
        Ok(keys)
    }

    /// The key id: the RFC 7638 thumbprint of the public key.
    pub fn kid(&self) -> String {
        let thumb = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, self.x());
        encode(Sha256::digest(thumb))
    }

    /// The public key as a JSON Web Key Set.
    pub fn jwks(&self) -> Value {
        json!({"keys": [{
            "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": self.kid(), "x": self.x(),
        }]})
    }

    /// Signs claims as a compact JWS.
    pub fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": "EdDSA", "typ": "JWT", "kid": self.kid()});
        let input = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = self.signing.sign(input.as_bytes());
        format!("{input}.{}", encode(signature.to_bytes()))
    }

    fn x(&self) -> String {
        encode(self.signing.verifying_key().as_bytes())
    }

    fn write_jwks(&self, path: &Path) -> Result<()> {
        let text = format!("{:#}\n", self.jwks());
        if fs::read_to_string(path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        let file = temporary(path, text.as_bytes())?;
        file.as_file().set_permissions(Permissions::from_mode(0o644)).with_context(|| advice(path))?;
        file.persist(path).with_context(|| advice(path))?;
        Ok(())
    }
}

fn read(pem: &Path) -> Result<Option<SigningKey>> {
    match fs::read_to_string(pem) {
        Ok(text) => SigningKey::from_pkcs8_pem(&text).map(Some).map_err(|error| {
            anyhow!("{} is not an Ed25519 key ({error}): remove it, and a new one is created", pem.display())
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| advice(pem)),
    }
}

fn create(pem: &Path) -> Result<DevKeys> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| anyhow!("the operating system returned no random bytes: {error}"))?;
    let signing = SigningKey::from_bytes(&seed);
    // Version 1 of PKCS#8, without the public key: OpenSSL reads no other.
    let text = KeypairBytes { secret_key: seed, public_key: None }
        .to_pkcs8_pem(LineEnding::LF)
        .map_err(|error| anyhow!("the new key cannot be written as PKCS#8: {error}"))?;
    let file = temporary(pem, text.as_bytes())?; // mode 0600
    match file.persist_noclobber(pem) {
        Ok(_) => Ok(DevKeys { signing, created: true }),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
            let signing = read(pem)?.with_context(|| advice(pem))?;
            Ok(DevKeys { signing, created: false })
        }
        Err(error) => Err(error).with_context(|| advice(pem)),
    }
}

/// Writes content to a temporary file in the same folder, ready to be renamed.
fn temporary(path: &Path, content: &[u8]) -> Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || {
        fs::create_dir_all(folder)?;
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        Ok::<_, std::io::Error>(file)
    };
    write().with_context(|| advice(path))
}

fn advice(path: &Path) -> String {
    format!("cannot use {}: make its folder writable or choose another with --data", path.display())
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

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

/// The secret, relative to the data folder.
pub const SECRET_FILE: &str = "auth/webhook-secret";

/// Reads the secret of a data folder, or creates one.
pub fn webhook_secret(data: &Path) -> Result<String> {
    let path = data.join(SECRET_FILE);
    match fs::read_to_string(&path) {
        Ok(text) => return Ok(text.trim().to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow!("the operating system returned no random bytes: {error}"))?;
    let secret = format!("whsec_{}", STANDARD.encode(bytes));
    let file = temporary(&path, format!("{secret}\n").as_bytes())?; // mode 0600
    file.persist(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use ed25519_dalek::{Signature, VerifyingKey};

    use super::*;

    #[test]
    fn the_pair_is_made_once_and_stays_private() {
        let folder = tempfile::tempdir().unwrap();
        let first = DevKeys::load_or_create(folder.path()).unwrap();
        let second = DevKeys::load_or_create(folder.path()).unwrap();
        assert!(first.created && !second.created);
        assert_eq!(first.kid(), second.kid());
        let pem = fs::read_to_string(folder.path().join(PEM_FILE)).unwrap();
        let der = STANDARD.decode(pem.lines().nth(1).unwrap()).unwrap();
        assert_eq!(
            der[..16],
            *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20",
            "PKCS#8 v1"
        );
        let mode = fs::metadata(folder.path().join(PEM_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let jwks: Value = serde_json::from_slice(&fs::read(folder.path().join(JWKS_FILE)).unwrap()).unwrap();
        assert_eq!(jwks["keys"][0]["kid"], first.kid());
    }

    #[test]
    fn the_thumbprint_is_that_of_rfc_8037() {
        // RFC 8037, appendix A.3.
        let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        let signing = SigningKey::from_bytes(&seed.try_into().unwrap());
        let keys = DevKeys { signing, created: false };
        assert_eq!(keys.kid(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn a_broken_key_file_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("auth")).unwrap();
        fs::write(folder.path().join(PEM_FILE), "nonsense").unwrap();
        let message = DevKeys::load_or_create(folder.path()).unwrap_err().to_string();
        assert!(message.contains("dev-ed25519.pem") && message.contains("remove it"), "{message}");
    }

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

    #[test]
    fn a_data_folder_keeps_its_secret() {
        let folder = tempfile::tempdir().unwrap();
        let secret = webhook_secret(folder.path()).unwrap();
        assert_eq!(secret.len(), "whsec_".len() + 44);
        assert_eq!(webhook_secret(folder.path()).unwrap(), secret);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(webhook_secret(other.path()).unwrap(), secret);
    }
}
