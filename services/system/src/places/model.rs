//! Locations, addresses and search results. Responses omit members without a value (docs/api/places.md).

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A location on the globe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// Three-word address.
    pub three_words: String,
    /// Postal address, or the address of the nearest place.
    pub address: Address,
    /// Coordinates.
    pub coordinates: Coordinates,
}

/// A postal address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Address {
    /// Name of a building, an organisation or a place.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub line1: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub line2: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub line3: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub city: String,
    /// Name of the region: `Herefordshire`
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// ISO 3166-2 code of the region: `GB-HEF`
    #[serde(rename = "regionISO", skip_serializing_if = "String::is_empty")]
    pub region_iso: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub postcode: String,
    #[schema(required = true)]
    pub country_name: String,
    /// ISO 3166-1 alpha-2 code of the country: `GB`
    #[serde(rename = "countryISO")]
    #[schema(required = true)]
    pub country_iso: String,
}

/// WGS84 coordinates in degrees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Coordinates {
    /// Latitude in degrees.
    #[schema(minimum = -90, maximum = 90)]
    pub lat: f64,
    /// Longitude in degrees.
    #[schema(minimum = -180, maximum = 180)]
    pub lon: f64,
}

impl Coordinates {
    /// Creates coordinates. Returns `None` if one of them is out of range.
    pub fn new(lat: f64, lon: f64) -> Option<Self> {
        (lat.abs() <= 90.0 && lon.abs() <= 180.0).then_some(Self { lat, lon })
    }
}

/// Formats latitude and longitude with up to 7 decimals, about a centimetre: `52.0565,-2.716`.
impl fmt::Display for Coordinates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shortest = |degrees: f64| {
            let text = format!("{degrees:.7}");
            let text = text.trim_end_matches('0').trim_end_matches('.');
            if text == "-0" { "0".to_owned() } else { text.to_owned() }
        };
        write!(formatter, "{},{}", shortest(self.lat), shortest(self.lon))
    }
}

/// An address and its coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct GeocodedAddress {
    pub address: Address,
    pub coordinates: Coordinates,
}

/// An address search.
#[derive(Clone, Debug, Default)]
pub struct AddressQuery {
    /// Text to find. May be empty if there is a container.
    pub text: String,
    /// Id of the container to search in.
    pub container_id: Option<String>,
    /// ISO 3166-1 alpha-2 code in upper case.
    pub country: Option<String>,
    /// Maximum number of matches: one more than the page, to learn whether another page follows.
    pub limit: usize,
    /// Number of matches to skip.
    pub offset: usize,
}

/// A match of an address search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AddressResult {
    /// Id to find the location by, together with `source`. The id of a container lists its contents.
    pub id: String,
    #[serde(rename = "type")]
    pub kind: AddressKind,
    /// Text of the match: `Hereford`
    pub text: String,
    /// Distinguishes matches with the same text: `Herefordshire, United Kingdom`
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Provider of the match: `gazetteer`
    pub source: String,
}

/// The type of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AddressKind {
    Address,
    Postcode,
    Street,
    Place,
    /// Contains other results, which its id lists.
    Container,
}

/// The response of an address search: the members of the best match, if there is one, and all matches.
#[derive(Debug, Serialize, ToSchema)]
pub struct AddressSearch {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    kind: Option<AddressKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    source: Option<String>,
    /// All matches, best first.
    results: Vec<AddressResult>,
}

impl From<Vec<AddressResult>> for AddressSearch {
    fn from(results: Vec<AddressResult>) -> Self {
        let best = results.first().cloned();
        Self {
            id: best.as_ref().map(|best| best.id.clone()),
            kind: best.as_ref().map(|best| best.kind),
            text: best.as_ref().map(|best| best.text.clone()),
            description: best.as_ref().map(|best| best.description.clone()).filter(|text| !text.is_empty()),
            source: best.map(|best| best.source),
            results,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_formatted_without_trailing_zeros() {
        let text = |lat, lon| Coordinates { lat, lon }.to_string();
        assert_eq!(text(52.056_500_04, -2.716), "52.0565,-2.716");
        assert_eq!(text(-0.000_000_001, 180.0), "0,180");
        assert_eq!(text(90.0, 100.0), "90,100");
    }
}
