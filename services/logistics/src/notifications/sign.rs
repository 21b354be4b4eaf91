//! Signatures by the Standard Webhooks scheme, version 1 of it: HMAC-SHA256 over id, time and body.

use anyhow::{Context, ensure};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

const PREFIX: &str = "whsec_";

/// The secrets that messages are signed with: each signs, so that receivers can change over from one to another.
pub struct Secrets(Vec<hmac::Key>);

impl Secrets {
    /// Reads secrets of the form `whsec_<base64>`, with 24 to 64 bytes each.
    ///
    /// # Errors
    /// What to set, without the secret.
    pub fn read(secrets: &[SecretString]) -> anyhow::Result<Self> {
        const FORM: &str = "each of service.webhook_secrets must be whsec_ and the base64 of 24 to 64 random bytes: \
                            echo \"whsec_$(head -c 32 /dev/urandom | base64)\"";
        ensure!(
            !secrets.is_empty(),
            "service.webhook_url is set, so webhooks must be signed: set service.webhook_secrets \
             (DROVER_SERVICE__WEBHOOK_SECRETS); {FORM}"
        );
        let key = |secret: &SecretString| {
            let encoded = secret.expose_secret().trim().strip_prefix(PREFIX).context(FORM)?;
            // The decoder would name the byte that it stumbled over.
            let bytes = Zeroizing::new(STANDARD.decode(encoded).ok().context(FORM)?);
            ensure!((24..=64).contains(&bytes.len()), FORM);
            Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
        };
        secrets.iter().map(key).collect::<anyhow::Result<_>>().map(Self)
    }

    /// The header `webhook-signature`: a signature by each secret, the first one's first.
    pub fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
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

    fn read(secrets: &[&str]) -> anyhow::Result<Secrets> {
        Secrets::read(&secrets.iter().map(|secret| (*secret).into()).collect::<Vec<_>>())
    }

    #[test]
    fn the_vector_that_other_implementations_of_the_scheme_are_tested_with() {
        let secrets = read(&[SECRET]).unwrap();
        let signed = secrets.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn each_secret_signs() {
        let other = format!("whsec_{}", STANDARD.encode([7; 64]));
        let [first, second, both] = [vec![SECRET], vec![&other], vec![SECRET, &other]]
            .map(|secrets| read(&secrets).unwrap().sign("i", 1, "{}"));
        assert_eq!(both, format!("{first} {second}"));
    }

    #[test]
    fn what_is_no_secret_is_refused_and_not_repeated() {
        let [short, long] = [23, 65].map(|bytes| format!("whsec_{}", STANDARD.encode(vec![7; bytes])));
        for bad in ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_§3cret", &short, &long] {
            let error = format!("{:#}", read(&[SECRET, bad]).err().unwrap());
            assert!(error.contains("webhook_secrets must be whsec_"), "{error}");
            assert!(bad.len() < 7 || !error.contains(bad), "{error}");
        }
        assert!(read(&[]).err().unwrap().to_string().contains("DROVER_SERVICE__WEBHOOK_SECRETS"));
    }
}
