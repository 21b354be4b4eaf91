//! Generated signing keys of each kind, with their public keys.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::Value;

pub(crate) struct Key {
    pub(crate) kid: &'static str,
    pub(crate) algorithm: Algorithm,
    signing: EncodingKey,
}

impl Key {
    pub(crate) fn rsa(kid: &'static str) -> Self {
        let key = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let pkcs8 = STANDARD.encode(AsDer::as_der(&key).unwrap().as_ref());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{pkcs8}\n-----END PRIVATE KEY-----\n");
        Self { kid, algorithm: Algorithm::RS256, signing: EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap() }
    }

    pub(crate) fn p256(kid: &'static str) -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self { kid, algorithm: Algorithm::ES256, signing: EncodingKey::from_ec_der(key.as_ref()) }
    }

    pub(crate) fn ed25519(kid: &'static str) -> Self {
        let key = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).unwrap();
        Self { kid, algorithm: Algorithm::EdDSA, signing: EncodingKey::from_ed_der(key.as_ref()) }
    }

    /// Returns the public key as a member of a JWKS document.
    pub(crate) fn public(&self) -> Value {
        let mut jwk = Jwk::from_encoding_key(&self.signing, self.algorithm).unwrap();
        jwk.common.key_id = Some(self.kid.to_owned());
        serde_json::to_value(jwk).unwrap()
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let header = Header { kid: Some(self.kid.to_owned()), ..Header::new(self.algorithm) };
        jsonwebtoken::encode(&header, claims, &self.signing).unwrap()
    }
}
