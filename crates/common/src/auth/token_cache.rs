//! Verified tokens, so that each signature is verified once and not at every request.
//!
//! The key of an entry is a digest of the token; the token itself is not stored. Validity is checked at every use: the
//! time, and that the verification key is still the current one of its name. Each fetch creates new keys, so that no
//! entry outlives the keys that it was verified with.

use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;

use parking_lot::RwLock;
use sha2::{Digest as _, Sha256};

use super::identity::Identity;
use super::keys::VerificationKey;

/// Maximum number of tokens in each of the two generations, which together take a few MB.
const MAX_TOKENS: usize = 4096;

/// SHA-256 of a token.
pub(super) type Digest = [u8; 32];

/// Returns the digest under which a token is cached.
pub(super) fn digest(token: &str) -> Digest {
    Sha256::digest(token).into()
}

/// A token whose signature and claims are valid.
pub(super) struct VerifiedToken {
    pub(super) kid: Option<String>,
    pub(super) key: Arc<VerificationKey>,
    /// Claim `nbf`, in seconds since 1970.
    pub(super) not_before: u64,
    /// Claim `exp`, in seconds since 1970.
    pub(super) expires_at: u64,
    pub(super) identity: Identity,
}

impl VerifiedToken {
    /// Returns true if the token is still valid at the time `now` and `key` is the current key of its name. `now` and
    /// `leeway` are seconds.
    pub(super) fn is_valid(&self, key: &Arc<VerificationKey>, now: u64, leeway: u64) -> bool {
        Arc::ptr_eq(&self.key, key)
            && self.expires_at >= now.saturating_sub(leeway)
            && self.not_before <= now.saturating_add(leeway)
    }
}

/// The most recently used tokens.
#[derive(Default)]
pub(super) struct TokenCache(RwLock<Generations>);

/// When `young` is full, it replaces `old`. Tokens in `old` that were not used since are evicted.
#[derive(Default)]
struct Generations {
    young: HashMap<Digest, Arc<VerifiedToken>>,
    old: HashMap<Digest, Arc<VerifiedToken>>,
}

impl TokenCache {
    /// Returns the token with this digest, if it is cached.
    pub(super) fn get(&self, digest: &Digest) -> Option<Arc<VerifiedToken>> {
        let generations = self.0.read();
        if let Some(token) = generations.young.get(digest) {
            return Some(token.clone());
        }
        let token = generations.old.get(digest)?.clone();
        drop(generations);
        self.insert(*digest, token.clone());
        Some(token)
    }

    /// Caches a token whose signature was verified.
    pub(super) fn insert(&self, digest: Digest, token: Arc<VerifiedToken>) {
        let mut generations = self.0.write();
        if generations.young.len() >= MAX_TOKENS {
            generations.old = take(&mut generations.young);
        }
        generations.young.insert(digest, token);
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{Algorithm, DecodingKey};

    use super::*;

    fn key() -> Arc<VerificationKey> {
        let decoding = DecodingKey::from_ed_der(&[]);
        Arc::new(VerificationKey { algorithm: Algorithm::EdDSA, decoding, issuer: "i".into() })
    }

    fn token(key: &Arc<VerificationKey>) -> Arc<VerifiedToken> {
        let identity = Identity {
            id: "u".into(),
            name: "u".into(),
            organisation: None,
            admin: false,
            roles: Vec::new(),
            is_service_account: false,
        };
        Arc::new(VerifiedToken { kid: None, key: key.clone(), not_before: 100, expires_at: 200, identity })
    }

    #[test]
    fn a_token_is_valid_within_its_time_and_with_its_key() {
        let (one, same) = (key(), key());
        let token = token(&one);
        for (now, is_valid) in [(69, false), (70, true), (100, true), (200, true), (230, true), (231, false)]
        {
            assert_eq!(token.is_valid(&one, now, 30), is_valid, "{now}");
        }
        assert!(!token.is_valid(&same, 150, 30), "the keys were fetched again");
    }

    #[test]
    fn keeps_used_tokens_and_at_most_two_generations() {
        let (cache, token) = (TokenCache::default(), token(&key()));
        let used = digest("used");
        for n in 0..5 * MAX_TOKENS {
            cache.insert(digest(&n.to_string()), token.clone());
            if n == 0 {
                cache.insert(used, token.clone());
            }
            assert!(cache.get(&used).is_some(), "a used token was evicted: {n}");
        }
        let generations = cache.0.read();
        let size = generations.young.len() + generations.old.len();
        drop(generations);
        assert!(size <= 2 * MAX_TOKENS, "{size}");
        assert!(cache.get(&digest("0")).is_none());
    }
}
