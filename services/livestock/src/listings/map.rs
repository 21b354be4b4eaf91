//! Listings on a map, as GeoJSON (RFC 7946; `docs/api/listings.md`, "Maps").

use database::{Id, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::facets::Cluster;
use super::geo::Point;
use super::location::Location;
use super::model::{Kind, Listing};
use super::price::Price;
use super::search::Audience;
use crate::categories::Categories;

/// The listings of a search on a map.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "type": "FeatureCollection", "withoutCoordinates": 0,
    "features": [{
        "type": "Feature", "id": crate::examples::LISTING, "geometry": {"type": "Point", "coordinates": [-3.39, 51.95]},
        "properties": {
            "title": "12 Hereford store steers", "category": "cattle", "type": "selling", "organisationName": "Penybont Farm",
            "price": {"type": "fixed", "pricePerUnit": {"amount": 1250, "currency": "GBP"}},
            "publishedAtUTC": "2026-03-01T09:30:00.000Z",
        },
    }],
}))]
pub(super) struct FeatureCollection {
    #[serde(rename = "type")]
    kind: CollectionType,
    /// Listings in the order of the search, or clusters, those of most listings first: at most 10,000.
    features: Vec<Feature>,
    /// The number of matches that have no coordinates and are left out.
    without_coordinates: u32,
    /// `true` if there are more features; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    truncated: bool,
}

#[derive(Debug, Serialize, ToSchema)]
enum CollectionType {
    FeatureCollection,
}

/// A listing or a cluster.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Feature {
    #[serde(rename = "type")]
    kind: FeatureType,
    /// The id of a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid, nullable = false)]
    id: Option<Id>,
    geometry: Geometry,
    properties: FeatureProperties,
}

#[derive(Debug, Serialize, ToSchema)]
enum FeatureType {
    Feature,
}

/// Where a listing is, or the middle of the listings of a cluster.
#[derive(Debug, Serialize, ToSchema)]
struct Geometry {
    #[serde(rename = "type")]
    kind: GeometryType,
    /// Degrees east and north.
    coordinates: [f64; 2],
}

#[derive(Debug, Serialize, ToSchema)]
enum GeometryType {
    Point,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum FeatureProperties {
    #[schema(title = "ListingOnMap")]
    Listing(Box<ListingOnMap>),
    #[schema(title = "ListingCluster")]
    Cluster(ListingCluster),
}

/// What a map shows of a listing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ListingOnMap {
    /// The title among its properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    title: Option<String>,
    /// The name of the main category.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    category: Option<String>,
    /// Whether the animals or supplies are offered or wanted.
    #[serde(rename = "type")]
    kind: Kind,
    /// The price for one animal or one unit of supplies.
    price: Price,
    /// The organisation's name when the listing was created.
    organisation_name: String,
    /// When the listing was published; absent if it never was.
    #[serde(rename = "publishedAtUTC", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    published_at: Option<Timestamp>,
}

/// The listings of a cell of the map.
#[derive(Debug, Serialize, ToSchema)]
struct ListingCluster {
    /// The number of listings.
    count: u32,
}

impl Feature {
    fn new(id: Option<Id>, point: Point, properties: FeatureProperties) -> Self {
        let geometry = Geometry { kind: GeometryType::Point, coordinates: [point.lon, point.lat] };
        Self { kind: FeatureType::Feature, id, geometry, properties }
    }
}

impl FeatureCollection {
    /// Makes a map of features. `truncated` is true if there are more.
    pub(super) fn new(features: Vec<Feature>, truncated: bool, without_coordinates: u32) -> Self {
        Self { kind: CollectionType::FeatureCollection, features, without_coordinates, truncated }
    }

    /// Makes a map of the first clusters up to a limit.
    pub(super) fn of_clusters(clusters: Vec<Cluster>, limit: i64, without_coordinates: u32) -> Self {
        let limit = usize::try_from(limit).unwrap_or_default();
        let truncated = clusters.len() > limit;
        let feature = |Cluster { count, point }| {
            Feature::new(None, point, FeatureProperties::Cluster(ListingCluster { count }))
        };
        Self::new(clusters.into_iter().take(limit).map(feature).collect(), truncated, without_coordinates)
    }
}

/// Returns the features of listings, without those that have no coordinates.
///
/// # Errors
/// If a document is not that of a listing.
pub(super) fn points(
    documents: &[String],
    categories: &Categories,
    audience: Audience,
) -> Result<Vec<Feature>, serde_json::Error> {
    let mut features = Vec::with_capacity(documents.len());
    for document in documents {
        let listing: Listing = serde_json::from_str(document)?;
        let listing = if audience == Audience::Visitors { listing.for_visitors() } else { listing };
        let Some(point) = listing.location.as_ref().and_then(Location::point) else { continue };
        let title = listing.properties.as_ref().and_then(|properties| properties.get("title")?.as_str());
        let shown = ListingOnMap {
            title: title.map(str::to_owned),
            category: categories.main_name(&listing.category_ids).map(str::to_owned),
            kind: listing.kind,
            price: listing.price,
            organisation_name: listing.organisation_name,
            published_at: listing.published_at,
        };
        features.push(Feature::new(Some(listing.id), point, FeatureProperties::Listing(Box::new(shown))));
    }
    Ok(features)
}
