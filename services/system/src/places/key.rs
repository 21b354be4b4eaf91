//! Keys of cached answers: readable, prefixed by kind, and naming the providers, so that what one answered is never
//! taken for the answer of another.

use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};

use super::model::{AddressQuery, Coordinates};
use super::provider::{Addresses, Words};

/// The most bytes of a key.
const MAX_KEY_BYTES: usize = 240;

/// `location:coordinates:grid:gazetteer:52.0565,-2.716`
pub(super) fn location(kind: &str, words: &dyn Words, addresses: &dyn Addresses, what: &str) -> String {
    bounded(format!("location:{kind}:{}:{}:{what}", words.name(), addresses.name()))
}

/// `address:search:gazetteer:GB+IE:GB:11:0::hereford`: enabled countries, country, matches requested, offset,
/// container, text
pub(super) fn search(addresses: &dyn Addresses, wanted: &AddressQuery) -> String {
    let country = wanted.country.as_deref().unwrap_or_default();
    // Or a container and a text could be written as others are.
    let within = wanted.within.as_deref().unwrap_or_default().replace('%', "%25").replace(':', "%3A");
    let text = wanted.text.to_lowercase();
    let (name, scope) = (addresses.name(), addresses.search_scope().unwrap_or_default());
    let (limit, offset) = (wanted.limit, wanted.offset);
    bounded(format!("address:search:{name}:{scope}:{country}:{limit}:{offset}:{within}:{text}"))
}

/// Three words as every scheme writes them: lower case, with dots between.
pub(super) fn words(text: &str) -> String {
    let parts = text.split(|c: char| ".,/".contains(c) || c.is_whitespace()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(".").to_lowercase()
}

/// To the centimetre.
pub(super) fn coordinates(at: Coordinates) -> String {
    let plain = |degrees: f64| {
        let text = format!("{degrees:.7}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        if text == "-0" { "0".to_owned() } else { text.to_owned() }
    };
    format!("{},{}", plain(at.lat), plain(at.lon))
}

/// A long key keeps its readable beginning; its hash tells it from others.
fn bounded(mut key: String) -> String {
    if key.len() > MAX_KEY_BYTES {
        let hash = encode_string(&Sha256::digest(&key));
        let fits = |end: &usize| key.is_char_boundary(*end);
        key.truncate((0..MAX_KEY_BYTES - hash.len()).rev().find(fits).unwrap_or_default());
        key.extend(["#", hash.as_str()]);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        let key = |lat, lon| coordinates(Coordinates { lat, lon });
        assert_eq!(key(52.056_500_04, -2.716), "52.0565,-2.716");
        assert_eq!(key(-0.000_000_001, 180.0), "0,180");
        assert_eq!(key(90.0, 100.0), "90,100");
    }

    #[test]
    fn words_are_plain() {
        for text in ["Amber.Barn.Clover", " amber barn  clover ", "///amber. barn, clover"] {
            assert_eq!(words(text), "amber.barn.clover");
        }
    }

    #[test]
    fn long_keys_stay_apart() {
        let (one, other) = ("é".repeat(1000), format!("{}x", "é".repeat(1000)));
        assert!(bounded(one.clone()).len() <= MAX_KEY_BYTES);
        assert_ne!(bounded(one), bounded(other));
        assert_eq!(bounded("short".into()), "short");
    }
}
