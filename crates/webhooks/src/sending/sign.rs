//! Signatures of the Standard Webhooks scheme, version 1: HMAC-SHA256 of id, timestamp and body.

use anyhow::{Context, ensure};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

const PREFIX: &str = "whsec_";

/// The keys that sign messages. Each key signs every message, so that receivers can rotate their secrets.
pub struct SigningKeys(Vec<hmac::Key>);

impl SigningKeys {
    /// Parses the secrets of the setting `service.webhook_secrets`, of the form `whsec_<base64>` with 24 to 64 bytes
    /// each.
    ///
    /// # Errors
    /// If there are no secrets or one is malformed. The message says what to set and repeats no secret.
    pub fn parse(secrets: &[SecretString]) -> anyhow::Result<Self> {
        const FORMAT: &str = "each of service.webhook_secrets must be whsec_ and the base64 of 24 to 64 random bytes: \
                            echo \"whsec_$(head -c 32 /dev/urandom | base64)\"";
        ensure!(
            !secrets.is_empty(),
            "service.webhook_url is set, so webhooks must be signed: set service.webhook_secrets \
             (DROVER_SERVICE__WEBHOOK_SECRETS); {FORMAT}"
        );
        let keys = secrets.iter().map(|secret| key(secret).context(FORMAT));
        keys.collect::<anyhow::Result<_>>().map(Self)
    }

    /// Returns the keys of [generated](generate_secret) secrets. Malformed ones are left out.
    pub fn of<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        Self(secrets.into_iter().filter_map(key).collect())
    }

    /// Returns the header `webhook-signature`: a signature by each key, in the order of the secrets. `timestamp` is in
    /// seconds since 1970.
    pub(crate) fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        let sign = |key: &hmac::Key| {
            let tag = hmac::sign(key, format!("{id}.{timestamp}.{body}").as_bytes());
            format!("v1,{}", STANDARD.encode(tag))
        };
        self.0.iter().map(sign).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the key of a secret, or `None` if the secret is malformed.
fn key(secret: &SecretString) -> Option<hmac::Key> {
    let encoded = secret.expose_secret().trim().strip_prefix(PREFIX)?;
    let bytes = Zeroizing::new(STANDARD.decode(encoded).ok()?);
    (24..=64).contains(&bytes.len()).then(|| hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

/// Returns a new secret of 32 random bytes.
///
/// # Errors
/// If the operating system has no random bytes.
pub(crate) fn generate_secret() -> anyhow::Result<SecretString> {
    let mut bytes = Zeroizing::new([0; 32]);
    aws_lc_rs::rand::fill(&mut *bytes).ok().context("the operating system has no random bytes")?;
    Ok(format!("{PREFIX}{}", STANDARD.encode(*bytes)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn parse(secrets: &[&str]) -> anyhow::Result<SigningKeys> {
        SigningKeys::parse(&secrets.iter().map(|secret| (*secret).into()).collect::<Vec<_>>())
    }

    #[test]
    fn matches_the_test_vector_of_other_implementations() {
        let keys = parse(&[SECRET]).unwrap();
        let signature = keys.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn each_secret_adds_a_signature() {
        let other = format!("whsec_{}", STANDARD.encode([7; 64]));
        let [first, second, both] = [vec![SECRET], vec![&other], vec![SECRET, &other]]
            .map(|secrets| parse(&secrets).unwrap().sign("i", 1, "{}"));
        assert_eq!(both, format!("{first} {second}"));
    }

    #[test]
    fn generated_secrets_are_valid_and_differ() {
        let secrets = [generate_secret().unwrap(), generate_secret().unwrap()];
        SigningKeys::parse(&secrets).unwrap();
        assert_ne!(secrets[0].expose_secret(), secrets[1].expose_secret());
        assert_eq!(STANDARD.decode(&secrets[0].expose_secret()[PREFIX.len()..]).unwrap().len(), 32);
        assert_eq!(SigningKeys::of(&secrets).sign("i", 1, "{}").split(' ').count(), 2);
    }

    #[test]
    fn rejects_malformed_secrets_without_repeating_them() {
        let [short, long] = [23, 65].map(|bytes| format!("whsec_{}", STANDARD.encode(vec![7; bytes])));
        for bad in ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_§3cret", &short, &long] {
            let error = format!("{:#}", parse(&[SECRET, bad]).err().unwrap());
            assert!(error.contains("webhook_secrets must be whsec_"), "{error}");
            assert!(bad.len() < 7 || !error.contains(bad), "{error}");
        }
        assert!(parse(&[]).err().unwrap().to_string().contains("DROVER_SERVICE__WEBHOOK_SECRETS"));
    }
}
