//! Lookups of places: from the cache, else from the configured providers.

use std::collections::BTreeSet;
use std::sync::Arc;

use common::Error;
use common::cli::Checks;
use futures_util::try_join;

use super::cache_key;
use super::model::{AddressQuery, AddressResult, Coordinates, Location};
use super::providers::{EmbeddedGazetteer, GAZETTEER, Geocoder, ProviderKind, Providers, WordScheme};
use crate::Settings;
use crate::cache::{Cache, SecretReloader};

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
    pub(super) async fn find_by_words(&self, words: &str) -> Result<Location, Error> {
        self.with_fallback(async |geocoder| {
            let key = cache_key::location("words", &*self.words, geocoder, words);
            let fetch = async || {
                let (three_words, coordinates) = self.words.decode(words).await?;
                let address = geocoder.nearest(coordinates).await?;
                Ok(Location { three_words, address, coordinates })
            };
            self.cache.get_or(&key, fetch).await
        })
        .await
    }

    /// Finds the location of a search result by its source and id. There is no fallback, because an id has a meaning
    /// for its source only.
    pub(super) async fn find_by_address_id(&self, source: &str, id: &str) -> Result<Location, Error> {
        let geocoder = if source == GAZETTEER { &self.gazetteer } else { &*self.geocoder };
        let key = cache_key::location("address", &*self.words, geocoder, id);
        let fetch = async || {
            let result = geocoder.find(id).await?;
            let three_words = self.words.encode(result.coordinates).await?;
            Ok(Location { three_words, address: result.address, coordinates: result.coordinates })
        };
        self.cache.get_or(&key, fetch).await
    }

    /// Finds the location at these coordinates, with the nearest address.
    pub(super) async fn find_by_coordinates(&self, coordinates: Coordinates) -> Result<Location, Error> {
        self.with_fallback(async |geocoder| {
            let key = cache_key::location("coordinates", &*self.words, geocoder, &coordinates.to_string());
            let fetch = async || {
                let (three_words, address) =
                    try_join!(self.words.encode(coordinates), geocoder.nearest(coordinates))?;
                Ok::<_, Error>(Location { three_words, address, coordinates })
            };
            let location = self.cache.get_or(&key, fetch).await?;
            // The key has rounded coordinates; the response has those of the request.
            Ok(Location { coordinates, ..location })
        })
        .await
    }

    /// Searches addresses. Returns a page of matches, best first, and whether another page follows.
    pub(super) async fn search(&self, query: &AddressQuery) -> Result<(Vec<AddressResult>, bool), Error> {
        let search = async |geocoder: &dyn Geocoder| {
            let key = cache_key::search(geocoder, query);
            self.cache.get_or(&key, async || geocoder.search(query).await).await
        };
        let fetched = match &query.container_id {
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
    pub(super) fn sources(&self) -> Vec<&'static str> {
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
