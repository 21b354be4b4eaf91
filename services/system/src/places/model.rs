//! What the geographic operations answer with (interface.md, 2.7 and 2.8). What has no value is left out.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// Its three-word address.
    pub three_words: String,
    /// Its postal address, or that of the nearest place.
    pub address: Address,
    /// Where it is on the globe.
    pub coordinates: Coordinates,
}

/// A postal address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Address {
    /// What stands there.
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
    /// `Herefordshire`
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// ISO 3166-2: `GB-HEF`
    #[serde(rename = "regionISO", skip_serializing_if = "String::is_empty")]
    pub region_iso: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub postcode: String,
    #[schema(required = true)]
    pub country_name: String,
    /// ISO 3166-1 alpha-2: `GB`
    #[serde(rename = "countryISO")]
    #[schema(required = true)]
    pub country_iso: String,
}

/// WGS84, in degrees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Coordinates {
    /// -90..90
    #[schema(minimum = -90, maximum = 90)]
    pub lat: f64,
    /// -180..180
    #[schema(minimum = -180, maximum = 180)]
    pub lon: f64,
}

impl Coordinates {
    /// Nothing if they are not on the globe.
    pub fn new(lat: f64, lon: f64) -> Option<Self> {
        (lat.abs() <= 90.0 && lon.abs() <= 180.0).then_some(Self { lat, lon })
    }
}

/// An address and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct GeocodedAddress {
    pub address: Address,
    pub at: Coordinates,
}

/// What an address search looks for.
#[derive(Clone, Debug, Default)]
pub struct AddressQuery {
    /// What is written in the address.
    pub text: String,
    /// The id of the container to look into.
    pub within: Option<String>,
    /// ISO 3166-1 alpha-2, upper case.
    pub country: Option<String>,
    /// Matches to give.
    pub limit: usize,
    /// Matches to skip.
    pub offset: usize,
}

/// A match of an address search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AddressResult {
    /// To be handed back, with `source`, for the location; or for what is in a container.
    pub id: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    /// `Hereford`
    pub text: String,
    /// What tells it from others of the same text: `Herefordshire, United Kingdom`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The provider that knows the id.
    pub source: String,
}

/// What a match is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = AddressKind)]
pub enum Kind {
    Address,
    Postcode,
    Street,
    Place,
    /// Has addresses in it, which its id lists.
    Container,
}

/// The answer of an address search: the members of the best match, if there is any, and all of them.
#[derive(Debug, Serialize, ToSchema)]
pub struct AddressSearch {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    kind: Option<Kind>,
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
