//! Locations by three words, by address and by coordinates, and the address search (docs/api/places.md). They come from
//! the cache, else from the configured [providers].
//!
//! Keys of cached responses are readable, start with their kind and name the providers, so that a response of one
//! provider is never returned for another.

mod handlers;
mod model;
mod providers;

use std::collections::BTreeSet;
use std::sync::Arc;

use base16ct::lower::encode_string;
use common::Error;
use common::cli::Checks;
use futures_util::try_join;
use sha2::{Digest, Sha256};

pub(crate) use handlers::routes;
pub(crate) use providers::register_metrics;

use crate::Settings;
use crate::cache::{Cache, SecretReloader};
use model::{AddressQuery, AddressResult, Coordinates, Location, NearestAddress};
use providers::{EmbeddedGazetteer, GAZETTEER, Geocoder, ProviderKind, Providers, WordScheme};

/// The kinds of cached responses: the first two words of their keys.
pub(crate) const CACHE_KEY_KINDS: [&str; 4] =
    ["location:words", "location:coordinates", "location:address", "address:search"];

/// Maximum length of a key in bytes.
const MAX_KEY_BYTES: usize = 240;

/// Finds locations and searches addresses.
pub(crate) struct Places {
    words: Box<dyn WordScheme>,
    geocoder: Box<dyn Geocoder>,
    gazetteer: EmbeddedGazetteer,
    /// Whether the gazetteer answers while the geocoder is unavailable.
    fallback: bool,
    cache: Cache,
}

impl Places {
    /// Opens the providers that the settings name. `enabled` are the codes of the enabled countries.
    ///
    /// # Errors
    /// Fails if a setting is missing or invalid. The message names it.
    pub(crate) fn open(
        settings: &Settings,
        enabled: &BTreeSet<String>,
        cache: Cache,
        secrets: &Arc<SecretReloader>,
    ) -> anyhow::Result<Self> {
        let Providers { words, geocoder, gazetteer } = Providers::open(settings, enabled, secrets)?;
        Ok(Self { words, geocoder, gazetteer, fallback: settings.address_fallback, cache })
    }

    /// Checks the settings of the providers. Calls none of them.
    pub(crate) async fn check(settings: &Settings, secrets: &Arc<SecretReloader>, checks: &mut Checks) {
        Providers::check(settings, secrets, checks).await;
    }

    /// Finds the location of a three-word address: the centre of its cell.
    async fn find_by_words(&self, words: &str) -> Result<Location, Error> {
        self.with_fallback(async |geocoder| {
            let key = location_key("words", &*self.words, geocoder, words);
            let fetch = async || {
                let (three_words, coordinates) = self.words.decode(words).await?;
                let address = geocoder.nearest(coordinates).await?.address;
                Ok(Location { three_words, address, coordinates, distance_km: None })
            };
            self.cache.get_or(&key, fetch).await
        })
        .await
    }

    /// Finds the location of a search result by its source and id. There is no fallback, because an id has a meaning
    /// for its source only.
    async fn find_by_address_id(&self, source: &str, id: &str) -> Result<Location, Error> {
        let geocoder = if source == GAZETTEER { &self.gazetteer } else { &*self.geocoder };
        let key = location_key("address", &*self.words, geocoder, id);
        let fetch = async || {
            let result = geocoder.find(id).await?;
            let three_words = self.words.encode(result.coordinates).await?;
            let (address, coordinates) = (result.address, result.coordinates);
            Ok(Location { three_words, address, coordinates, distance_km: None })
        };
        self.cache.get_or(&key, fetch).await
    }

    /// Finds the location at these coordinates, with the nearest address.
    async fn find_by_coordinates(&self, coordinates: Coordinates) -> Result<Location, Error> {
        self.with_fallback(async |geocoder| {
            let key = location_key("coordinates", &*self.words, geocoder, &coordinates.to_string());
            let fetch = async || {
                let (three_words, nearest) =
                    try_join!(self.words.encode(coordinates), geocoder.nearest(coordinates))?;
                let NearestAddress { address, distance_km } = nearest;
                Ok::<_, Error>(Location { three_words, address, coordinates, distance_km })
            };
            let location = self.cache.get_or(&key, fetch).await?;
            // The key has rounded coordinates; the response has those of the request.
            Ok(Location { coordinates, ..location })
        })
        .await
    }

    /// Searches addresses. Returns a page of matches, best first, and whether another page follows.
    async fn search(&self, query: &AddressQuery) -> Result<(Vec<AddressResult>, bool), Error> {
        let search = async |geocoder: &dyn Geocoder| {
            let key = search_key(geocoder, query);
            self.cache.get_or(&key, async || geocoder.search(query).await).await
        };
        let fetched = match &query.container_id {
            // Other providers do not read coordinates.
            None if gazetteer::is_point(&query.text) => search(&self.gazetteer).await?,
            None => self.with_fallback(search).await?,
            // The container is a result of the gazetteer, possibly of a fallback.
            Some(id) if self.gazetteer.is_container(id) => search(&self.gazetteer).await?,
            Some(_) => search(&*self.geocoder).await?,
        };
        Ok(query.page(fetched))
    }

    /// Calls the configured geocoder. If it is unavailable and `service.address_fallback` is set, calls the gazetteer.
    /// Each response is cached under the name of its geocoder.
    async fn with_fallback<T>(
        &self,
        lookup: impl AsyncFn(&dyn Geocoder) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match lookup(&*self.geocoder).await {
            Err(Error::Unavailable(cause, dependency))
                if self.fallback && dependency == ProviderKind::Addresses.dependency() =>
            {
                tracing::warn!(
                    error = format!("{cause:#}"),
                    "the address provider is unavailable; falling back to the gazetteer"
                );
                lookup(&self.gazetteer).await
            }
            result => result,
        }
    }

    /// Returns the valid values of `source`, the configured geocoder first.
    fn sources(&self) -> Vec<&'static str> {
        let mut sources = vec![self.geocoder.name(), GAZETTEER];
        sources.dedup();
        sources
    }

    /// Returns the providers that are called over the network, and whether the last call of each succeeded. A probe
    /// would be a call that the provider charges for.
    pub(crate) fn health(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let health = [("words", self.words.is_healthy()), ("addresses", self.geocoder.is_healthy())];
        health.into_iter().filter_map(|(name, healthy)| Some((name, healthy?)))
    }
}

/// Returns the key of a location, for example `location:coordinates:grid:gazetteer:52.0565,-2.716`. `subject` is the
/// text that the location is found by.
fn location_key(kind: &str, words: &dyn WordScheme, geocoder: &dyn Geocoder, subject: &str) -> String {
    bounded(format!("location:{kind}:{}:{}:{subject}", words.name(), geocoder.name()))
}

/// Returns the key of an address search, for example `address:search:gazetteer:GB+IE:GB:11:0::hereford`: geocoder, its
/// search scope, country, matches to fetch, offset, container, text.
fn search_key(geocoder: &dyn Geocoder, query: &AddressQuery) -> String {
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
