//! The embedded geocoder and the embedded three-word grid. They need no network and never fail.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;

use base16ct::lower::encode_string;
use common::Error;
use gazetteer::{CountrySet, Gazetteer};
use sha2::{Digest, Sha256};

use super::{GAZETTEER, Geocoder, ProviderFuture, WordScheme, unknown_words};
use crate::places::model::{
    Address, AddressKind, AddressQuery, AddressResult, Coordinates, GeocodedAddress, NearestAddress,
};

/// Maximum length in bytes of the codes of enabled countries in a cache key. Longer lists are hashed.
const MAX_SCOPE_BYTES: usize = 30;

/// The gazetteer as a geocoder.
#[derive(Clone)]
pub(crate) struct EmbeddedGazetteer {
    gazetteer: Arc<Gazetteer>,
    /// Countries whose places come first.
    enabled: CountrySet,
    /// The enabled countries in cache keys.
    search_scope: Arc<str>,
}

impl EmbeddedGazetteer {
    /// Opens the gazetteer. Among matches of the same kind, places of the enabled countries come first; with Great
    /// Britain, those of the Crown dependencies too.
    pub(super) fn open(enabled: &BTreeSet<String>) -> Self {
        let mut scope = enabled.iter().map(String::as_str).collect::<Vec<_>>().join("+");
        if scope.len() > MAX_SCOPE_BYTES {
            scope = encode_string(&Sha256::digest(&scope)[..12]);
        }
        // They are countries of their own in ISO 3166, but not to the people of Great Britain.
        let crown = ["GG", "IM", "JE"].into_iter().filter(|_| enabled.contains("GB"));
        Self {
            gazetteer: Arc::new(Gazetteer::open()),
            enabled: CountrySet::of(enabled.iter().map(String::as_str).chain(crown)),
            search_scope: scope.into(),
        }
    }

    /// Returns true for the id of a container of the gazetteer.
    pub(crate) fn is_container(&self, id: &str) -> bool {
        self.gazetteer.is_container(id)
    }

    /// Returns the nearest place, with the nearest postcode.
    pub(super) fn nearest_place(&self, coordinates: Coordinates) -> NearestAddress {
        let nearest = self.gazetteer.nearest(coordinates.lat, coordinates.lon);
        NearestAddress {
            address: nearest.address.into(),
            distance_km: nearest.distance_km.map(in_whole_metres),
        }
    }

    /// Returns the coordinates of an address's postcode, or else of its city. `None` if neither is known.
    pub(super) fn locate(&self, address: &Address) -> Option<Coordinates> {
        let texts = [&address.postcode, &address.city].into_iter().filter(|text| !text.is_empty());
        let mut matches = texts.filter_map(|text| {
            let country = Some(address.country_iso.as_str());
            let search =
                gazetteer::SearchOptions { text: Some(text), country, limit: 1, ..Default::default() };
            self.gazetteer.find(&self.gazetteer.search(&search).first()?.id)
        });
        matches.next().map(|resolved| Coordinates { lat: resolved.lat, lon: resolved.lon })
    }

    fn search_now(&self, query: &AddressQuery) -> Result<Vec<AddressResult>, Error> {
        if query.container_id.as_ref().is_some_and(|id| !self.is_container(id)) {
            return Err(Error::NotFound);
        }
        let hits = self.gazetteer.search(&gazetteer::SearchOptions {
            text: Some(query.text.as_str()).filter(|text| !text.is_empty()),
            within: query.container_id.as_deref(),
            country: query.country.as_deref(),
            preferred: self.enabled,
            limit: query.fetch(),
            offset: query.offset,
        });
        Ok(hits.into_iter().map(AddressResult::from).collect())
    }
}

impl Geocoder for EmbeddedGazetteer {
    fn name(&self) -> &'static str {
        GAZETTEER
    }

    fn search_scope(&self) -> Option<&str> {
        Some(&self.search_scope)
    }

    fn search<'a>(&'a self, query: &'a AddressQuery) -> ProviderFuture<'a, Vec<AddressResult>> {
        Box::pin(ready(self.search_now(query)))
    }

    fn find<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, GeocodedAddress> {
        Box::pin(ready(self.gazetteer.find(id).map(GeocodedAddress::from).ok_or(Error::NotFound)))
    }

    fn nearest(&self, coordinates: Coordinates) -> ProviderFuture<'_, NearestAddress> {
        Box::pin(ready(Ok(self.nearest_place(coordinates))))
    }
}

/// Rounds a distance in kilometres.
pub(super) fn in_whole_metres(kilometres: f64) -> f64 {
    (kilometres * 1000.0).round() / 1000.0
}

/// Returns the ISO 3166-2 code of a region by its country's code and one of its names. Empty if the region is unknown.
pub(super) fn region_iso(country: &str, name: &str) -> String {
    let has_name = |text: &str| text.eq_ignore_ascii_case(name);
    let region =
        gazetteer::regions(country).find(|region| has_name(region.name()) || region.aliases().any(has_name));
    region.map(|region| region.iso().to_owned()).unwrap_or_default()
}

impl From<gazetteer::ResolvedAddress> for GeocodedAddress {
    fn from(resolved: gazetteer::ResolvedAddress) -> Self {
        Self {
            address: resolved.address.into(),
            coordinates: Coordinates { lat: resolved.lat, lon: resolved.lon },
        }
    }
}

impl From<gazetteer::Address> for Address {
    fn from(address: gazetteer::Address) -> Self {
        Self {
            name: address.name,
            city: address.city,
            region: address.region,
            region_iso: address.region_iso,
            postcode: address.postcode,
            country_name: address.country_name,
            country_iso: address.country_iso,
            ..Self::default()
        }
    }
}

impl From<gazetteer::Hit> for AddressResult {
    fn from(hit: gazetteer::Hit) -> Self {
        let kind = match hit.kind {
            gazetteer::HitKind::Postcode => AddressKind::Postcode,
            gazetteer::HitKind::Place => AddressKind::Place,
            gazetteer::HitKind::Container => AddressKind::Container,
        };
        Self { id: hit.id, kind, text: hit.text, description: hit.description, source: GAZETTEER.to_owned() }
    }
}

/// The open three-word scheme of the gazetteer crate.
pub(super) struct Grid(pub gazetteer::Grid);

impl WordScheme for Grid {
    fn name(&self) -> &'static str {
        "grid"
    }

    fn encode(&self, coordinates: Coordinates) -> ProviderFuture<'_, String> {
        Box::pin(ready(Ok(self.0.encode(coordinates.lat, coordinates.lon))))
    }

    fn decode<'a>(&'a self, words: &'a str) -> ProviderFuture<'a, (String, Coordinates)> {
        let decoded = self.0.decode(words).map_err(|unknown| unknown_words(unknown.suggestions));
        Box::pin(ready(decoded.map(|(lat, lon)| (words.to_owned(), Coordinates { lat, lon }))))
    }
}
