//! Keys of cached responses. They are readable, start with their kind and name the providers, so that a response of one
//! provider is never returned for another.

use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};

use super::model::AddressQuery;
use super::providers::{Geocoder, WordScheme};

/// The kinds of cached responses: the first two words of their keys.
pub(crate) const KINDS: [&str; 4] =
    ["location:words", "location:coordinates", "location:address", "address:search"];

/// Maximum length of a key in bytes.
const MAX_KEY_BYTES: usize = 240;

/// Returns the key of a location, for example `location:coordinates:grid:gazetteer:52.0565,-2.716`. `subject` is the
/// text that the location is found by.
pub(super) fn location(kind: &str, words: &dyn WordScheme, geocoder: &dyn Geocoder, subject: &str) -> String {
    bounded(format!("location:{kind}:{}:{}:{subject}", words.name(), geocoder.name()))
}

/// Returns the key of an address search, for example `address:search:gazetteer:GB+IE:GB:11:0::hereford`: geocoder, its
/// search scope, country, matches to fetch, offset, container, text.
pub(super) fn search(geocoder: &dyn Geocoder, query: &AddressQuery) -> String {
    let (name, scope) = (geocoder.name(), geocoder.search_scope().unwrap_or_default());
    let country = query.country.as_deref().unwrap_or_default();
    let (fetch, offset) = (query.fetch(), query.offset);
    // Escaped: otherwise two pairs of container and text could have the same key.
    let container = query.container_id.as_deref().unwrap_or_default().replace('%', "%25").replace(':', "%3A");
    let text = query.text.to_lowercase();
    bounded(format!("address:search:{name}:{scope}:{country}:{fetch}:{offset}:{container}:{text}"))
}

/// Shortens a key that is too long. Its start stays readable; a hash of the whole key makes it unique.
fn bounded(mut key: String) -> String {
    if key.len() > MAX_KEY_BYTES {
        let hash = encode_string(&Sha256::digest(&key));
        let is_boundary = |end: &usize| key.is_char_boundary(*end);
        key.truncate((0..MAX_KEY_BYTES - hash.len()).rev().find(is_boundary).unwrap_or_default());
        key.extend(["#", hash.as_str()]);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_keys_are_shortened_and_stay_unique() {
        let (one, other) = ("é".repeat(1000), format!("{}x", "é".repeat(1000)));
        assert!(bounded(one.clone()).len() <= MAX_KEY_BYTES);
        assert_ne!(bounded(one), bounded(other));
        assert_eq!(bounded("short".into()), "short");
    }
}
