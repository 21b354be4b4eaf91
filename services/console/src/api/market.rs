//! What the console reads of the market: listings, what is counted and drawn of them, enquiries and reports. Members
//! that it does not show are left out.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// A listing, as its organisation, another caller or a visitor reads it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Listing {
    pub(crate) id: String,
    pub(crate) organisation_id: String,
    pub(crate) organisation_name: String,
    /// `selling` or `buying`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) revision: i64,
    pub(crate) category_ids: Vec<i64>,
    pub(crate) location: Location,
    pub(crate) price: Price,
    pub(crate) files: Vec<Attachment>,
    pub(crate) description: String,
    pub(crate) tags: Vec<String>,
    pub(crate) properties: Map<String, Value>,
    #[serde(rename = "createdAtUTC")]
    pub(crate) created_at: String,
    #[serde(rename = "publishedAtUTC")]
    pub(crate) published_at: Option<String>,
    pub(crate) distance_km: Option<f64>,
    pub(crate) is_wishlisted: bool,
    pub(crate) suspended: bool,
}

/// Where animals or supplies are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Location {
    pub(crate) address: Address,
    pub(crate) coordinates: Option<Coordinates>,
}

/// A postal address.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Address {
    pub(crate) city: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) postcode: Option<String>,
    #[serde(rename = "countryISO")]
    pub(crate) country: Option<String>,
}

/// Degrees.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Coordinates {
    pub(crate) lat: f64,
    pub(crate) lon: f64,
}

/// A price for one animal or one unit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Price {
    /// `fixed`, `range` or `poa`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(rename = "pricePerUnit")]
    pub(crate) per_unit: Option<Money>,
    #[serde(rename = "minPrice")]
    pub(crate) least: Option<Money>,
    #[serde(rename = "maxPrice")]
    pub(crate) most: Option<Money>,
}

/// An amount of money.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Money {
    pub(crate) amount: f64,
    pub(crate) currency: String,
}

/// A file of a listing. Only visitors get links to images.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Attachment {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Links to smaller images, by their width.
    pub(crate) urls: BTreeMap<String, String>,
}

/// How many listings have each value of each filter.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Facets {
    pub(crate) filters: BTreeMap<String, Vec<FacetValue>>,
    pub(crate) total: u64,
}

/// A value of a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct FacetValue {
    pub(crate) value: String,
    pub(crate) count: u64,
}

/// Clusters of listings on a map.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Clusters {
    pub(crate) features: Vec<Cluster>,
    pub(crate) without_coordinates: u64,
    pub(crate) truncated: bool,
}

/// The listings of a cell of the map.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Cluster {
    pub(crate) geometry: ClusterPoint,
    pub(crate) properties: ClusterCount,
}

/// The middle of the listings: degrees east and north.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClusterPoint {
    pub(crate) coordinates: [f64; 2],
}

/// How many listings there are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClusterCount {
    pub(crate) count: u64,
}

/// A category of listings. A main category has no parent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Category {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) parent_id: Option<i64>,
}

/// A question of somebody about a listing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Enquiry {
    pub(crate) id: String,
    pub(crate) listing_id: String,
    pub(crate) message: String,
    pub(crate) name: String,
    pub(crate) phone: Option<String>,
    pub(crate) email: Option<String>,
    pub(crate) status: String,
    #[serde(rename = "createdAtUTC")]
    pub(crate) created_at: String,
    #[serde(rename = "answeredAtUTC")]
    pub(crate) answered_at: Option<String>,
}

/// A report of a listing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) id: String,
    pub(crate) listing_id: String,
    pub(crate) user_id: String,
    pub(crate) reason: String,
    pub(crate) message: Option<String>,
    #[serde(rename = "createdAtUTC")]
    pub(crate) created_at: String,
    pub(crate) status: String,
    pub(crate) outcome: Option<String>,
    pub(crate) note: Option<String>,
}

/// An organisation that may not sell at the moment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Suspended {
    pub(crate) id: String,
    pub(crate) reason: String,
    #[serde(rename = "suspendedAtUTC")]
    pub(crate) since: String,
}
