//! Tokens that were found good, so that a signature is verified once and not at every request.
//!
//! A digest of the whole token leads to what it proves; the token is not kept. What may change is asked at every use: a
//! token is good within its time, and while its key is the very one that is known under that name. Whenever keys are
//! read they are new ones, so nothing outlives the key that it was verified by.

use std::collections::HashMap;
use std::mem::take;
use std::sync::{Arc, PoisonError, RwLock};

use sha2::{Digest as _, Sha256};

use super::Organisation;
use super::keys::VerificationKey;

/// As many are kept in each of the two generations: some MB at most.
const MAX_TOKENS: usize = 4096;

pub(super) type Digest = [u8; 32];

pub(super) fn digest(token: &str) -> Digest {
    Sha256::digest(token).into()
}

/// Whom a token names.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) organisation: Option<Organisation>,
    pub(super) admin: bool,
}

/// A token whose signature and claims are good.
pub(super) struct VerifiedToken {
    pub(super) kid: Option<String>,
    pub(super) key: Arc<VerificationKey>,
    /// Claim `nbf`; seconds since 1970, as the next.
    pub(super) begins: u64,
    /// Claim `exp`.
    pub(super) ends: u64,
    pub(super) person: Identity,
}

impl VerifiedToken {
    /// True if it is still good when this is the key of its name and so much the time, give or take the leeway.
    pub(super) fn holds(&self, key: &Arc<VerificationKey>, now: u64, leeway: u64) -> bool {
        Arc::ptr_eq(&self.key, key)
            && self.ends >= now.saturating_sub(leeway)
            && self.begins <= now.saturating_add(leeway)
    }
}

/// The tokens that were used last.
#[derive(Default)]
pub(super) struct TokenCache(RwLock<Generations>);

/// When the young ones are too many they are the old ones, and those that were old and not used since are gone.
#[derive(Default)]
struct Generations {
    young: HashMap<Digest, Arc<VerifiedToken>>,
    old: HashMap<Digest, Arc<VerifiedToken>>,
}

impl TokenCache {
    pub(super) fn find(&self, digest: &Digest) -> Option<Arc<VerifiedToken>> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(good) = kept.young.get(digest) {
            return Some(good.clone());
        }
        let good = kept.old.get(digest).cloned();
        drop(kept);
        if let Some(good) = &good {
            self.keep(*digest, good.clone());
        }
        good
    }

    pub(super) fn keep(&self, digest: Digest, good: Arc<VerifiedToken>) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if kept.young.len() >= MAX_TOKENS {
            kept.old = take(&mut kept.young);
        }
        kept.young.insert(digest, good);
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{Algorithm, DecodingKey};

    use super::*;

    fn key() -> Arc<VerificationKey> {
        Arc::new(VerificationKey { algorithm: Algorithm::EdDSA, decoding: DecodingKey::from_ed_der(&[]) })
    }

    fn good(key: &Arc<VerificationKey>) -> Arc<VerifiedToken> {
        let person = Identity { id: "u".into(), name: "u".into(), organisation: None, admin: false };
        Arc::new(VerifiedToken { kid: None, key: key.clone(), begins: 100, ends: 200, person })
    }

    #[test]
    fn good_within_its_time_and_by_its_key() {
        let (one, same) = (key(), key());
        let good = good(&one);
        for (now, holds) in [(69, false), (70, true), (100, true), (200, true), (230, true), (231, false)] {
            assert_eq!(good.holds(&one, now, 30), holds, "{now}");
        }
        assert!(!good.holds(&same, 150, 30), "the keys were read again");
    }

    #[test]
    fn no_more_than_two_generations() {
        let (kept, good) = (TokenCache::default(), good(&key()));
        let used = digest("used");
        for n in 0..5 * MAX_TOKENS {
            kept.keep(digest(&n.to_string()), good.clone());
            if n == 0 {
                kept.keep(used, good.clone());
            }
            assert!(kept.find(&used).is_some(), "what is used stays: {n}");
        }
        let sizes = kept.0.read().map(|kept| kept.young.len() + kept.old.len()).unwrap();
        assert!(sizes <= 2 * MAX_TOKENS, "{sizes}");
        assert!(kept.find(&digest("0")).is_none());
    }
}
