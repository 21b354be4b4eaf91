//! Addresses from Photon, the open-source geocoder over OpenStreetMap. It has no containers.

use common::Error;
use serde::Deserialize;

use super::embedded::{Embedded, region_iso};
use super::model::{Address, AddressQuery, AddressResult, Coordinates, GeocodedAddress, Kind};
use super::provider::{Addresses, ProviderFuture};
use super::upstream::{Reply, Upstream};

/// The name of the provider.
pub(super) const NAME: &str = "photon";

/// The most matches that servers give. They are asked for where not all are wanted: those of another country are left
/// out here, since older servers refuse to be asked for one.
const MAX_RESULTS: usize = 50;

/// See the module.
pub(super) struct Photon {
    pub upstream: Upstream,
    pub embedded: Embedded,
}

#[derive(Deserialize)]
struct Collection {
    features: Vec<Feature>,
}

#[derive(Deserialize)]
struct Feature {
    geometry: Point,
    properties: Properties,
}

#[derive(Deserialize)]
struct Point {
    /// Longitude first.
    coordinates: [f64; 2],
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Properties {
    osm_type: String,
    osm_id: i64,
    osm_key: String,
    osm_value: String,
    r#type: String,
    name: String,
    housenumber: String,
    street: String,
    postcode: String,
    locality: String,
    district: String,
    city: String,
    county: String,
    state: String,
    country: String,
    countrycode: String,
}

impl Addresses for Photon {
    fn name(&self) -> &'static str {
        NAME
    }

    fn search<'a>(&'a self, wanted: &'a AddressQuery) -> ProviderFuture<'a, Vec<AddressResult>> {
        Box::pin(async move {
            if wanted.within.is_some() {
                return Err(Error::NotFound);
            }
            let many = if wanted.country.is_some() { MAX_RESULTS } else { wanted.offset + wanted.limit };
            let limit = many.min(MAX_RESULTS).to_string();
            let query = [("q", wanted.text.as_str()), ("limit", &limit), ("lang", "en")];
            let found = self.features("api", &query).await?;
            let here = |feature: &Feature| {
                let code = &feature.properties.countrycode;
                wanted.country.as_ref().is_none_or(|iso| iso.eq_ignore_ascii_case(code))
            };
            let named = found.into_iter().filter(here).map(Feature::result).filter(|r| !r.text.is_empty());
            Ok(named.skip(wanted.offset).take(wanted.limit).collect())
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, GeocodedAddress> {
        Box::pin(async move {
            let named = id.split_once('@').and_then(|(name, at)| Some((name, parse(at)?)));
            let (name, at) = named.ok_or(Error::NotFound)?;
            let found =
                self.reverse(at, MAX_RESULTS).await?.into_iter().find(|feature| feature.name() == name);
            let found = found.ok_or(Error::NotFound)?;
            Ok(GeocodedAddress { at: found.at().unwrap_or(at), address: self.address(found.properties, at) })
        })
    }

    fn nearest(&self, at: Coordinates) -> ProviderFuture<'_, Address> {
        Box::pin(async move {
            let found = self.reverse(at, 1).await?.into_iter().next();
            // Far from everything it finds nothing; the gazetteer always knows a place that is nearest.
            Ok(found.map_or_else(|| self.embedded.nearest_place(at), |f| self.address(f.properties, at)))
        })
    }

    fn health(&self) -> Option<bool> {
        Some(self.upstream.is_well())
    }
}

impl Photon {
    async fn features(&self, path: &str, query: &[(&str, &str)]) -> Result<Vec<Feature>, Error> {
        let read = |reply: Reply| {
            let found = reply.success::<Collection>()?.features;
            Ok(found.into_iter().filter(|feature| feature.at().is_some()).collect())
        };
        self.upstream.get(path, query, read).await
    }

    async fn reverse(&self, at: Coordinates, limit: usize) -> Result<Vec<Feature>, Error> {
        let [lat, lon, limit] = [at.lat.to_string(), at.lon.to_string(), limit.to_string()];
        self.features("reverse", &[("lat", &lat), ("lon", &lon), ("limit", &limit), ("lang", "en")]).await
    }

    /// At sea there is no country; then the gazetteer says which is nearest.
    fn address(&self, found: Properties, at: Coordinates) -> Address {
        let iso = found.countrycode.to_uppercase();
        let Some(country) = gazetteer::country(&iso) else { return self.embedded.nearest_place(at) };
        let region = if found.county.is_empty() { &found.state } else { &found.county };
        let is_settlement = found.osm_key == "place";
        let city =
            if found.city.is_empty() && is_settlement { found.name.clone() } else { found.city.clone() };
        Address {
            line1: found.line(),
            line2: if found.locality.is_empty() { found.district } else { found.locality },
            region: region.clone(),
            region_iso: region_iso(&iso, region),
            name: found.name,
            city,
            postcode: found.postcode,
            country_name: country.name.to_owned(),
            country_iso: iso,
            ..Address::default()
        }
    }
}

impl Feature {
    fn at(&self) -> Option<Coordinates> {
        let [lon, lat] = self.geometry.coordinates;
        Coordinates::new(lat, lon)
    }

    /// `N123456`: what OpenStreetMap calls it.
    fn name(&self) -> String {
        format!("{}{}", self.properties.osm_type, self.properties.osm_id)
    }

    /// Photon finds nothing by its name alone, so the id says where to look too.
    fn result(self) -> AddressResult {
        let [lon, lat] = self.geometry.coordinates;
        let id = format!("{}@{lat},{lon}", self.name());
        let (kind, found) = (self.properties.kind(), self.properties);
        let line = found.line();
        let mut parts = vec![&found.name, &line, &found.city, &found.county, &found.state];
        parts.extend([&found.postcode, &found.country]);
        parts.retain(|part| !part.is_empty());
        parts.dedup();
        let mut parts = parts.into_iter();
        let text = parts.next().cloned().unwrap_or_default();
        let description = parts.map(String::as_str).collect::<Vec<_>>().join(", ");
        AddressResult { id, kind, text, description, source: NAME.to_owned() }
    }
}

impl Properties {
    /// Older servers say no type.
    fn kind(&self) -> Kind {
        match self.r#type.as_str() {
            _ if self.osm_value == "postcode" => Kind::Postcode,
            "house" => Kind::Address,
            "street" => Kind::Street,
            "" if !self.housenumber.is_empty() => Kind::Address,
            "" if self.osm_key == "highway" => Kind::Street,
            _ => Kind::Place,
        }
    }

    /// `12 Church Street`
    fn line(&self) -> String {
        format!("{} {}", self.housenumber, self.street).trim().to_owned()
    }
}

/// `52.0565,-2.716`
fn parse(text: &str) -> Option<Coordinates> {
    let (lat, lon) = text.split_once(',')?;
    Coordinates::new(lat.parse().ok()?, lon.parse().ok()?)
}
