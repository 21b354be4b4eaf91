//! Addresses from Photon, the open-source geocoder for OpenStreetMap. It has no containers.

use common::Error;
use serde::Deserialize;

use super::client::{ProviderClient, ProviderResponse};
use super::embedded::{EmbeddedGazetteer, in_whole_metres, region_iso};
use super::{Geocoder, ProviderFuture};
use crate::places::model::{
    Address, AddressKind, AddressQuery, AddressResult, Coordinates, GeocodedAddress, NearestAddress,
};

/// The name of the provider.
const NAME: &str = "photon";

/// Maximum number of matches that Photon returns. A search in one country requests all of them and filters the
/// response, because older servers have no country parameter.
const MAX_RESULTS: usize = 50;

/// A Photon server.
pub(super) struct Photon {
    /// Calls the server.
    pub client: ProviderClient,
    /// Finds the nearest place where the server knows none, or no country.
    pub gazetteer: EmbeddedGazetteer,
}

#[derive(Deserialize)]
struct FeatureCollection {
    features: Vec<Feature>,
}

#[derive(Deserialize)]
struct Feature {
    geometry: Point,
    properties: Properties,
}

#[derive(Deserialize)]
struct Point {
    /// Longitude and latitude in degrees.
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

impl Geocoder for Photon {
    fn name(&self) -> &'static str {
        NAME
    }

    fn search<'a>(&'a self, query: &'a AddressQuery) -> ProviderFuture<'a, Vec<AddressResult>> {
        Box::pin(async move {
            if query.container_id.is_some() {
                return Err(Error::NotFound);
            }
            let limit = if query.country.is_some() { MAX_RESULTS } else { query.offset + query.fetch() };
            let limit = limit.min(MAX_RESULTS).to_string();
            let parameters = [("q", query.text.as_str()), ("limit", &limit), ("lang", "en")];
            let features = self.features("api", &parameters).await?;
            let is_in_country = |feature: &Feature| {
                let code = &feature.properties.countrycode;
                query.country.as_ref().is_none_or(|iso| iso.eq_ignore_ascii_case(code))
            };
            let results = features.into_iter().filter(is_in_country).map(Feature::into_result);
            let results = results.filter(|result| !result.text.is_empty());
            Ok(results.skip(query.offset).take(query.fetch()).collect())
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, GeocodedAddress> {
        Box::pin(async move {
            let (osm_id, coordinates) = parse_id(id).ok_or(Error::NotFound)?;
            let features = self.reverse(coordinates, MAX_RESULTS).await?;
            let feature =
                features.into_iter().find(|feature| feature.osm_id() == osm_id).ok_or(Error::NotFound)?;
            Ok(GeocodedAddress {
                coordinates: feature.coordinates().unwrap_or(coordinates),
                address: match feature.properties.into_address() {
                    Some(address) => address,
                    None => self.gazetteer.nearest_place(coordinates).address,
                },
            })
        })
    }

    fn nearest(&self, coordinates: Coordinates) -> ProviderFuture<'_, NearestAddress> {
        Box::pin(async move {
            let nearest = self.reverse(coordinates, 1).await?.into_iter().next();
            // Photon finds nothing in remote areas, and features without a country at sea.
            let nearest = nearest.and_then(|feature| {
                let Coordinates { lat, lon } = feature.coordinates()?;
                let distance = gazetteer::distance_km((coordinates.lat, coordinates.lon), (lat, lon));
                let address = feature.properties.into_address()?;
                Some(NearestAddress { address, distance_km: Some(in_whole_metres(distance)) })
            });
            Ok(nearest.unwrap_or_else(|| self.gazetteer.nearest_place(coordinates)))
        })
    }

    fn is_healthy(&self) -> Option<bool> {
        Some(self.client.is_healthy())
    }
}

impl Photon {
    /// Returns the features of a response, without those whose coordinates are out of range.
    async fn features(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Vec<Feature>, Error> {
        let parse = |response: ProviderResponse| {
            let features = response.success::<FeatureCollection>()?.features;
            Ok(features.into_iter().filter(|feature| feature.coordinates().is_some()).collect())
        };
        self.client.get(path, parameters, parse).await
    }

    /// Returns the features near a point, nearest first.
    async fn reverse(&self, coordinates: Coordinates, limit: usize) -> Result<Vec<Feature>, Error> {
        let [lat, lon, limit] = [coordinates.lat.to_string(), coordinates.lon.to_string(), limit.to_string()];
        self.features("reverse", &[("lat", &lat), ("lon", &lon), ("limit", &limit), ("lang", "en")]).await
    }
}

impl Feature {
    fn coordinates(&self) -> Option<Coordinates> {
        let [lon, lat] = self.geometry.coordinates;
        Coordinates::new(lat, lon)
    }

    /// Returns the type and number of the OpenStreetMap object: `N123456`.
    fn osm_id(&self) -> String {
        format!("{}{}", self.properties.osm_type, self.properties.osm_id)
    }

    /// Converts the feature. The id contains the coordinates, because Photon has no search by OpenStreetMap id.
    fn into_result(self) -> AddressResult {
        let [lon, lat] = self.geometry.coordinates;
        let id = format!("{}@{lat},{lon}", self.osm_id());
        let (kind, properties) = (self.properties.kind(), self.properties);
        let street_line = properties.street_line();
        let mut parts = vec![
            &properties.name,
            &street_line,
            &properties.city,
            &properties.county,
            &properties.state,
            &properties.postcode,
            &properties.country,
        ];
        parts.retain(|part| !part.is_empty());
        parts.dedup();
        let mut parts = parts.into_iter();
        let text = parts.next().cloned().unwrap_or_default();
        let description = parts.map(String::as_str).collect::<Vec<_>>().join(", ");
        AddressResult { id, kind, text, description, source: NAME.to_owned() }
    }
}

impl Properties {
    /// Converts the properties of a feature. A feature at sea has no country and no address.
    fn into_address(self) -> Option<Address> {
        let iso = self.countrycode.to_uppercase();
        let country = gazetteer::country(&iso)?;
        let region = if self.county.is_empty() { self.state.clone() } else { self.county.clone() };
        let is_settlement = self.osm_key == "place";
        let city = if self.city.is_empty() && is_settlement { self.name.clone() } else { self.city.clone() };
        Some(Address {
            line1: self.street_line(),
            line2: if self.locality.is_empty() { self.district } else { self.locality },
            region_iso: region_iso(&iso, &region),
            region,
            name: self.name,
            city,
            postcode: self.postcode,
            country_name: country.name.to_owned(),
            country_iso: iso,
            ..Address::default()
        })
    }

    /// Returns the kind of the feature. Older servers send no `type`.
    fn kind(&self) -> AddressKind {
        match self.r#type.as_str() {
            _ if self.osm_value == "postcode" => AddressKind::Postcode,
            "house" => AddressKind::Address,
            "street" => AddressKind::Street,
            "" if !self.housenumber.is_empty() => AddressKind::Address,
            "" if self.osm_key == "highway" => AddressKind::Street,
            _ => AddressKind::Place,
        }
    }

    /// Returns the house number and street: `12 Church Street`.
    fn street_line(&self) -> String {
        format!("{} {}", self.housenumber, self.street).trim().to_owned()
    }
}

/// Parses the id of a result, for example `N123456@52.0565,-2.716`.
fn parse_id(id: &str) -> Option<(&str, Coordinates)> {
    let (osm_id, coordinates) = id.split_once('@')?;
    let (lat, lon) = coordinates.split_once(',')?;
    Some((osm_id, Coordinates::new(lat.parse().ok()?, lon.parse().ok()?)?))
}
