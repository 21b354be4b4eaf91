//! The location of animals or supplies (`docs/api/listings.md`, "Create"). It is stored as it was sent, except that the
//! postcode is normalized.

use common::wire::{Name, Postcode};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

use super::geo::Point;

/// The location of animals or supplies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Location {
    /// The three-word address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub three_words: Option<Name>,
    /// The postal address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub address: Option<Address>,
    /// The coordinates. A search by distance does not find a listing without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub coordinates: Option<Coordinates>,
}

/// A postal address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Address {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line1: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line2: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line3: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub city: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub region: Option<Name>,
    #[serde(rename = "regionISO", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    region_iso: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub postcode: Option<Postcode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    country_name: Option<Name>,
    #[serde(rename = "countryISO", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    country_iso: Option<Name>,
}

/// Coordinates in degrees, WGS 84.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Coordinates {
    /// Degrees north.
    #[schema(required = true, value_type = f64, minimum = -90, maximum = 90)]
    pub lat: Number,
    /// Degrees east.
    #[schema(required = true, value_type = f64, minimum = -180, maximum = 180)]
    pub lon: Number,
}

impl Location {
    /// Returns the point of the coordinates.
    pub(crate) fn point(&self) -> Option<Point> {
        self.coordinates.as_ref()?.point()
    }
}

impl Coordinates {
    /// Returns the point.
    pub(crate) fn point(&self) -> Option<Point> {
        Some(Point { lat: self.lat.as_f64()?, lon: self.lon.as_f64()? })
    }
}

impl Default for Coordinates {
    fn default() -> Self {
        Self { lat: 0.into(), lon: 0.into() }
    }
}
