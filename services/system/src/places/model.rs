//! Locations, addresses and search results. Responses omit members without a value (docs/api/places.md).

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A location on the globe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Location {
    /// Three-word address.
    pub(crate) three_words: String,
    /// Postal address, or the address of the nearest place.
    pub(crate) address: Address,
    /// Coordinates.
    pub(crate) coordinates: Coordinates,
    /// Distance in kilometres from the place that the address names, of a location by coordinates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    pub(crate) distance_km: Option<f64>,
}

/// The address nearest to a point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NearestAddress {
    pub(crate) address: Address,
    /// Distance in kilometres from the place that the address names, in whole metres. `None` if the provider does not
    /// know where it is.
    pub(crate) distance_km: Option<f64>,
}

/// A postal address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Address {
    /// Name of a building, an organisation or a place.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) line1: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) line2: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) line3: String,
    /// City, town or village.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) city: String,
    /// Name of the region: `Herefordshire`
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) region: String,
    /// ISO 3166-2 code of the region: `GB-HEF`
    #[serde(rename = "regionISO", skip_serializing_if = "String::is_empty")]
    pub(crate) region_iso: String,
    /// Postcode in the spelling of its country.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) postcode: String,
    /// English name of the country. Absent if the nearest place is more than 50 km away, for example at sea.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) country_name: String,
    /// ISO 3166-1 alpha-2 code of the country: `GB`
    #[serde(rename = "countryISO", skip_serializing_if = "String::is_empty")]
    pub(crate) country_iso: String,
}

/// WGS84 coordinates in degrees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Coordinates {
    /// Latitude in degrees.
    #[schema(minimum = -90, maximum = 90)]
    pub(crate) lat: f64,
    /// Longitude in degrees.
    #[schema(minimum = -180, maximum = 180)]
    pub(crate) lon: f64,
}

impl Coordinates {
    /// Creates coordinates. Returns `None` if one of them is out of range.
    pub(crate) fn new(lat: f64, lon: f64) -> Option<Self> {
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
pub(crate) struct GeocodedAddress {
    /// The address.
    pub(crate) address: Address,
    pub(crate) coordinates: Coordinates,
}

/// An address search.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressQuery {
    /// Text to find. May be empty if there is a container.
    pub(crate) text: String,
    /// Id of the container to search in.
    pub(crate) container_id: Option<String>,
    /// ISO 3166-1 alpha-2 code in upper case.
    pub(crate) country: Option<String>,
    /// Maximum number of matches on the page.
    pub(crate) limit: usize,
    /// Number of matches to skip.
    pub(crate) offset: usize,
}

impl AddressQuery {
    /// Returns the number of matches to fetch: one more than the page, to learn whether another page follows.
    pub(super) fn fetch(&self) -> usize {
        self.limit.saturating_add(1)
    }

    /// Returns the page of the matches that were fetched, and whether another page follows.
    pub(super) fn page(&self, mut fetched: Vec<AddressResult>) -> (Vec<AddressResult>, bool) {
        let has_next = fetched.len() > self.limit;
        fetched.truncate(self.limit);
        (fetched, has_next)
    }
}

/// A match of an address search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AddressResult {
    /// Id to find the location by, together with `source`. The id of a container lists its contents.
    pub(crate) id: String,
    /// What the match is.
    #[serde(rename = "type")]
    pub(crate) kind: AddressKind,
    /// Text of the match: `Hereford`
    pub(crate) text: String,
    /// Distinguishes matches with the same text: `Herefordshire, United Kingdom`
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    /// Provider of the match: `gazetteer`
    pub(crate) source: String,
}

/// The type of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AddressKind {
    Address,
    Postcode,
    Street,
    Place,
    /// Contains other results, which its id lists.
    Container,
}

/// The response of an address search: the members of the best match, if there is one, and all matches.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AddressSearch {
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
    fn another_page_follows_if_more_matches_were_fetched_than_the_page_has() {
        let fetched = |count: usize| {
            let result = |n: usize| AddressResult {
                id: n.to_string(),
                kind: AddressKind::Place,
                text: String::new(),
                description: String::new(),
                source: String::new(),
            };
            (0..count).map(result).collect::<Vec<_>>()
        };
        for (limit, count, on_page, has_next) in
            [(0, 0, 0, false), (0, 1, 0, true), (2, 1, 1, false), (2, 2, 2, false), (2, 3, 2, true)]
        {
            let query = AddressQuery { limit, ..AddressQuery::default() };
            assert!(count <= query.fetch());
            let (page, more) = query.page(fetched(count));
            assert_eq!((page.len(), more), (on_page, has_next), "{count} of {limit}");
        }
    }

    #[test]
    fn coordinates_are_formatted_without_trailing_zeros() {
        let text = |lat, lon| Coordinates { lat, lon }.to_string();
        assert_eq!(text(52.056_500_04, -2.716), "52.0565,-2.716");
        assert_eq!(text(-0.000_000_001, 180.0), "0,180");
        assert_eq!(text(90.0, 100.0), "90,100");
    }
}
