//! Encrypts and authenticates what browsers keep for the console, and signs what forms carry.

use anyhow::{Context, anyhow, ensure};
use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::{hmac, rand};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};

const KEY_BYTES: usize = 32;

/// The keys in rotation: the first one seals and signs, all of them open and verify.
pub(crate) struct Keys(Vec<Key>);

struct Key {
    seal: RandomizedNonceKey,
    sign: hmac::Key,
}

impl Key {
    fn new(bytes: &[u8]) -> anyhow::Result<Self> {
        let seal = RandomizedNonceKey::new(&AES_256_GCM, bytes).map_err(|_| anyhow!("not a key"))?;
        // Not the key of the encryption: derived from it for this purpose.
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, bytes), b"drover console forms");
        Ok(Self { seal, sign: hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()) })
    }
}

impl Keys {
    /// Reads the configured keys. Without any, creates one that lasts as long as the process.
    ///
    /// # Errors
    /// Names the setting to change.
    pub(crate) fn open(configured: &[SecretString]) -> anyhow::Result<Self> {
        if configured.is_empty() {
            let mut bytes = [0; KEY_BYTES];
            rand::fill(&mut bytes).map_err(|_| anyhow!("the operating system returned no random bytes"))?;
            return Ok(Self(vec![Key::new(&bytes)?]));
        }
        let read = |key: &SecretString| {
            let bytes = STANDARD.decode(key.expose_secret().trim()).unwrap_or_default();
            ensure!(bytes.len() == KEY_BYTES, "a key has {} bytes in base64", bytes.len());
            Key::new(&bytes)
        };
        let keys: anyhow::Result<_> = configured.iter().map(read).collect();
        Ok(Self(keys.context(
            "service.session_keys (DROVER_SERVICE__SESSION_KEYS_FILE) must hold keys of 32 bytes in base64, one per line: \
             create each with `openssl rand -base64 32`",
        )?))
    }

    /// Seals bytes for a purpose. The result consists of letters, digits, `-` and `_`.
    pub(crate) fn seal(&self, purpose: &str, bytes: &[u8]) -> anyhow::Result<String> {
        let mut sealed = bytes.to_vec();
        let key = self.0.first().context("there is no key")?;
        let nonce = key.seal.seal_in_place_append_tag(Aad::from(purpose.as_bytes()), &mut sealed);
        let nonce = nonce.map_err(|_| anyhow!("encryption failed"))?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce.as_ref()[..], &sealed].concat()))
    }

    /// Opens what was sealed for a purpose. Returns `None` for everything else.
    pub(crate) fn open_sealed(&self, purpose: &str, sealed: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
        self.0.iter().find_map(|key| {
            let (nonce, mut opened) = (Nonce::try_assume_unique_for_key(nonce).ok()?, sealed.to_vec());
            let length =
                key.seal.open_in_place(nonce, Aad::from(purpose.as_bytes()), &mut opened).ok()?.len();
            opened.truncate(length);
            Some(opened)
        })
    }

    /// Signs a text, for forms.
    pub(crate) fn sign(&self, text: &str) -> String {
        let signature = self.0.first().map(|key| hmac::sign(&key.sign, text.as_bytes()));
        URL_SAFE_NO_PAD.encode(signature.as_ref().map_or(&[][..], AsRef::as_ref))
    }

    /// Returns true if this is the signature of a text.
    pub(crate) fn is_signature(&self, text: &str, signature: &str) -> bool {
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        self.0.iter().any(|key| hmac::verify(&key.sign, text.as_bytes(), &signature).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SecretString {
        STANDARD.encode([byte; KEY_BYTES]).into()
    }

    #[test]
    fn keys_rotate_and_others_open_nothing() {
        let [old, new] = [1, 2].map(|byte| Keys::open(&[key(byte)]).unwrap());
        let both = Keys::open(&[key(2), key(1)]).unwrap();
        let sealed = old.seal("session", b"text").unwrap();
        assert_eq!(both.open_sealed("session", &sealed).unwrap(), b"text");
        assert!(new.open_sealed("session", &sealed).is_none());
        assert!(new.open_sealed("session", &both.seal("session", b"text").unwrap()).is_some());
        assert!(old.open_sealed("login", &sealed).is_none(), "sealed for another purpose");
        assert!(
            both.is_signature("ruth", &old.sign("ruth")) && both.is_signature("ruth", &both.sign("ruth"))
        );
        assert!(
            !both.is_signature("owen", &old.sign("ruth")) && !new.is_signature("ruth", &old.sign("ruth"))
        );
        assert!(!both.is_signature("ruth", "") && !both.is_signature("ruth", "?"));
    }

    #[test]
    fn a_changed_byte_opens_nothing() {
        let keys = Keys::open(&[]).unwrap();
        let sealed = keys.seal("session", b"text").unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'Q' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(keys.open_sealed("session", &changed).is_none(), "{at}");
        }
        assert!(keys.open_sealed("session", "").is_none() && keys.open_sealed("session", "é").is_none());
    }

    #[test]
    fn a_wrong_key_is_named_without_its_value() {
        let message = format!("{:#}", Keys::open(&["c2hvcnQ=".into()]).err().unwrap());
        assert!(
            message.contains("DROVER_SERVICE__SESSION_KEYS_FILE") && !message.contains("c2hv"),
            "{message}"
        );
    }
}
