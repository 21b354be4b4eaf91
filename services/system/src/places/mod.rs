//! Places: locations by three words, by address and by coordinates, and the search for addresses.
//!
//! [`Places`] answers from two providers, one of words and one of addresses, and keeps the answers in the cache.

mod api;
mod credential;
mod embedded;
mod key;
mod loqate;
mod model;
mod open;
mod photon;
mod provider;
mod query;
mod upstream;
mod what3words;

use common::Error;
use futures_util::try_join;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::cache::Cache;
use embedded::Embedded;
use model::{AddressQuery, AddressResult, Coordinates, Location};
use provider::{Addresses, GAZETTEER, Words};

pub(crate) fn routes(group: &mut ServiceConfig) {
    group.service(api::by_words);
    group.service(api::by_id);
    group.service(api::by_coordinates);
    group.service(api::search);
}

/// All that is known of places.
pub(crate) struct Places {
    words: Box<dyn Words>,
    addresses: Box<dyn Addresses>,
    embedded: Embedded,
    /// The embedded provider answers what the configured one of addresses cannot.
    fallback: bool,
    cache: Cache,
}

impl Places {
    /// The location that three words name: the centre of their cell.
    async fn by_words(&self, text: &str) -> Result<Location, Error> {
        let words = key::words(text);
        self.or_embedded(async |addresses| {
            let key = key::location("words", &*self.words, addresses, &words);
            let find = async || {
                let (three_words, coordinates) = self.words.decode(&words).await?;
                let address = addresses.nearest(coordinates).await?;
                Ok(Location { three_words, address, coordinates })
            };
            self.cache.get_or(&key, find).await
        })
        .await
    }

    /// The location of a match of this source. An id means nothing to another provider, so none stands in.
    async fn by_id(&self, source: &str, id: &str) -> Result<Location, Error> {
        let addresses = if source == GAZETTEER { &self.embedded } else { &*self.addresses };
        let key = key::location("address", &*self.words, addresses, id);
        let find = async || {
            let spot = addresses.find(id).await?;
            let three_words = self.words.encode(spot.at).await?;
            Ok(Location { three_words, address: spot.address, coordinates: spot.at })
        };
        self.cache.get_or(&key, find).await
    }

    /// The location at these coordinates, with the nearest address.
    async fn by_coordinates(&self, at: Coordinates) -> Result<Location, Error> {
        self.or_embedded(async |addresses| {
            let key = key::location("coordinates", &*self.words, addresses, &key::coordinates(at));
            let find = async || {
                let (three_words, address) = try_join!(self.words.encode(at), addresses.nearest(at))?;
                Ok::<_, Error>(Location { three_words, address, coordinates: at })
            };
            let found = self.cache.get_or(&key, find).await?;
            // Digits that the key leaves out are still the caller's.
            Ok(Location { coordinates: at, ..found })
        })
        .await
    }

    /// The matches of an address search, best first.
    async fn search(&self, wanted: &AddressQuery) -> Result<Vec<AddressResult>, Error> {
        let ask = async |addresses: &dyn Addresses| {
            let key = key::search(addresses, wanted);
            self.cache.get_or(&key, async || addresses.search(wanted).await).await
        };
        match &wanted.within {
            None => self.or_embedded(ask).await,
            // A container of a search that the embedded provider answered.
            Some(id) if self.embedded.has(id) => ask(&self.embedded).await,
            Some(_) => ask(&*self.addresses).await,
        }
    }

    /// Asks the configured provider of addresses and, where that fails and the configuration says so, the embedded
    /// one. Each answer is cached under the name of its provider.
    async fn or_embedded<T>(
        &self,
        ask: impl AsyncFn(&dyn Addresses) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match ask(&*self.addresses).await {
            Err(Error::Unavailable(cause, upstream::ADDRESSES)) if self.fallback => {
                tracing::warn!(
                    error = format!("{cause:#}"),
                    "the gazetteer answers for the address provider"
                );
                ask(&self.embedded).await
            }
            answer => answer,
        }
    }

    /// The sources that ids may be of, the configured one first.
    fn sources(&self) -> Vec<&'static str> {
        let mut sources = vec![self.addresses.name(), GAZETTEER];
        sources.dedup();
        sources
    }

    /// The providers that are called over the network, and whether the last call went well. A probe of our own
    /// would cost money each time.
    pub(crate) fn health(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let health = [("words", self.words.health()), ("addresses", self.addresses.health())];
        health.into_iter().filter_map(|(name, well)| Some((name, well?)))
    }
}
