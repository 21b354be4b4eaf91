//! Signatures of the Standard Webhooks scheme, version 1: HMAC-SHA256 of id, timestamp and body.

use anyhow::{Context, ensure};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

const PREFIX: &str = "whsec_";

/// The keys that sign messages. Each key signs every message, so that receivers can rotate their secrets.
pub(crate) struct SigningKeys(Vec<hmac::Key>);

impl SigningKeys {
    /// Parses secrets of the form `whsec_<base64>`, with 24 to 64 bytes each.
    ///
    /// # Errors
    /// If there are no secrets or one is malformed. The message says what to set and repeats no secret.
    pub(crate) fn parse(secrets: &[SecretString]) -> anyhow::Result<Self> {
        const FORMAT: &str = "each of service.webhook_secrets must be whsec_ and the base64 of 24 to 64 random bytes: \
                            echo \"whsec_$(head -c 32 /dev/urandom | base64)\"";
        ensure!(
            !secrets.is_empty(),
            "service.webhook_url is set, so webhooks must be signed: set service.webhook_secrets \
             (DROVER_SERVICE__WEBHOOK_SECRETS); {FORMAT}"
        );
        let key = |secret: &SecretString| {
            let encoded = secret.expose_secret().trim().strip_prefix(PREFIX).context(FORMAT)?;
            // The decoder's error names the invalid byte.
            let bytes = Zeroizing::new(STANDARD.decode(encoded).ok().context(FORMAT)?);
            ensure!((24..=64).contains(&bytes.len()), FORMAT);
            Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
        };
        secrets.iter().map(key).collect::<anyhow::Result<_>>().map(Self)
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
