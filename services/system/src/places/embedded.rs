//! The embedded providers: the gazetteer, and the grid of three words. They need no network and never fail.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;

use base16ct::lower::encode_string;
use common::Error;
use gazetteer::{CountrySet, Gazetteer};
use sha2::{Digest, Sha256};

use super::model::{Address, AddressQuery, AddressResult, Coordinates, GeocodedAddress, Kind};
use super::provider::{Addresses, GAZETTEER, ProviderFuture, Words, not_words};

/// The open grid of three words.
pub(super) struct Grid(pub gazetteer::Grid);

impl Words for Grid {
    fn name(&self) -> &'static str {
        "grid"
    }

    fn encode(&self, at: Coordinates) -> ProviderFuture<'_, String> {
        Box::pin(ready(Ok(self.0.encode(at.lat, at.lon))))
    }

    fn decode<'a>(&'a self, words: &'a str) -> ProviderFuture<'a, (String, Coordinates)> {
        let found = self.0.decode(words).map_err(|unknown| not_words(unknown.suggestions));
        Box::pin(ready(found.map(|(lat, lon)| (words.to_owned(), Coordinates { lat, lon }))))
    }
}

/// More bytes than this of enabled countries' codes make way for their hash in cache keys.
const MAX_SCOPE: usize = 30;

/// The gazetteer as a provider of addresses.
#[derive(Clone)]
pub(super) struct Embedded {
    gazetteer: Arc<Gazetteer>,
    /// Countries whose places come first.
    enabled: CountrySet,
    /// The same for cache keys.
    scope: Arc<str>,
}

impl Embedded {
    /// Opens the gazetteer. Among matches of the same kind, places of the enabled countries come first.
    pub(super) fn open(enabled: &BTreeSet<String>) -> Self {
        let mut scope = enabled.iter().map(String::as_str).collect::<Vec<_>>().join("+");
        if scope.len() > MAX_SCOPE {
            scope = encode_string(&Sha256::digest(&scope)[..12]);
        }
        Self {
            gazetteer: Arc::new(Gazetteer::open()),
            enabled: CountrySet::of(enabled.iter().map(String::as_str)),
            scope: scope.into(),
        }
    }

    /// True if this is the id of one of its containers.
    pub(super) fn has(&self, id: &str) -> bool {
        self.gazetteer.is_container(id)
    }

    /// The nearest place and postcode.
    pub(super) fn nearest_place(&self, at: Coordinates) -> Address {
        self.gazetteer.nearest(at.lat, at.lon).address.into()
    }

    /// Where an address is, as near as its postcode or else its town tells.
    pub(super) fn place_of(&self, address: &Address) -> Option<Coordinates> {
        let texts = [&address.postcode, &address.city].into_iter().filter(|text| !text.is_empty());
        let mut found = texts.filter_map(|text| {
            let country = Some(address.country_iso.as_str());
            let search =
                gazetteer::SearchOptions { text: Some(text), country, limit: 1, ..Default::default() };
            self.gazetteer.find(&self.gazetteer.search(&search).first()?.id)
        });
        found.next().map(|spot| Coordinates { lat: spot.lat, lon: spot.lon })
    }

    fn search_now(&self, wanted: &AddressQuery) -> Result<Vec<AddressResult>, Error> {
        if wanted.within.as_ref().is_some_and(|id| !self.has(id)) {
            return Err(Error::NotFound);
        }
        let found = self.gazetteer.search(&gazetteer::SearchOptions {
            text: Some(wanted.text.as_str()).filter(|text| !text.is_empty()),
            within: wanted.within.as_deref(),
            country: wanted.country.as_deref(),
            preferred: self.enabled,
            limit: wanted.limit,
            offset: wanted.offset,
        });
        Ok(found.into_iter().map(AddressResult::from).collect())
    }
}

impl Addresses for Embedded {
    fn name(&self) -> &'static str {
        GAZETTEER
    }

    fn search_scope(&self) -> Option<&str> {
        Some(&self.scope)
    }

    fn search<'a>(&'a self, wanted: &'a AddressQuery) -> ProviderFuture<'a, Vec<AddressResult>> {
        Box::pin(ready(self.search_now(wanted)))
    }

    fn find<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, GeocodedAddress> {
        Box::pin(ready(self.gazetteer.find(id).map(GeocodedAddress::from).ok_or(Error::NotFound)))
    }

    fn nearest(&self, at: Coordinates) -> ProviderFuture<'_, Address> {
        Box::pin(ready(Ok(self.nearest_place(at))))
    }
}

/// The code of a country's region by one of its names; nothing if it is not known.
pub(super) fn region_iso(country: &str, name: &str) -> String {
    let named = |text: &str| text.eq_ignore_ascii_case(name);
    let mut regions = gazetteer::regions(country);
    let found = regions.find(|region| named(region.name()) || region.aliases().any(named));
    found.map(|region| region.iso().to_owned()).unwrap_or_default()
}

impl From<gazetteer::ResolvedAddress> for GeocodedAddress {
    fn from(spot: gazetteer::ResolvedAddress) -> Self {
        Self { address: spot.address.into(), at: Coordinates { lat: spot.lat, lon: spot.lon } }
    }
}

impl From<gazetteer::Address> for Address {
    fn from(address: gazetteer::Address) -> Self {
        Self {
            name: address.name,
            line1: address.line1,
            line2: address.line2,
            line3: address.line3,
            city: address.city,
            region: address.region,
            region_iso: address.region_iso,
            postcode: address.postcode,
            country_name: address.country_name,
            country_iso: address.country_iso,
        }
    }
}

impl From<gazetteer::Hit> for AddressResult {
    fn from(hit: gazetteer::Hit) -> Self {
        let kind = match hit.kind {
            gazetteer::HitKind::Postcode => Kind::Postcode,
            gazetteer::HitKind::Place => Kind::Place,
            gazetteer::HitKind::Container => Kind::Container,
        };
        Self { id: hit.id, kind, text: hit.text, description: hit.description, source: GAZETTEER.to_owned() }
    }
}
