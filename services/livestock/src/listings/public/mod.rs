//! Active listings as visitors without a token see them, if the deployment shows them (docs/api/listings.md, "Public
//! listings").

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use common::system::{ImageLinkClient, ImageLinks, PublicCall};
use common::validation::ValidationErrors;
use common::wire::FileReference;
use common::{Error, Format, Visitor};
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};

use super::geo::{BoundingBox, Point, distance_km};
use super::location::Location;
use super::model::{Kind, Listing, Status};
use super::price::Price;
use super::properties::ListingProperties;
use super::search::{Audience, ListingSearch, ListingSearchParams, Near, StatusFilter};
use crate::categories::Categories;

/// The most listings of one CSV file or workbook.
const MAX_EXPORTED: i64 = 10_000;

/// An active listing as visitors without a token see it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PublicListing {
    /// UUID, version 7.
    #[schema(value_type = String, format = Uuid)]
    id: Id,
    /// The organisation that the listing belongs to.
    organisation_id: String,
    /// The organisation's name when the listing was created.
    organisation_name: String,
    /// Whether the animals or supplies are offered or wanted.
    #[serde(rename = "type")]
    kind: Kind,
    /// Always `active`.
    status: Status,
    /// A main category or parts of one: see `GET /v1/categories`.
    category_ids: Vec<i32>,
    /// Where the animals or supplies are: coordinates in hundredths of a degree, the outward
    /// code of a British postcode, no name, street or three words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    location: Option<Location>,
    /// The price for one animal or one unit of supplies.
    price: Price,
    /// The images that every caller may download. Other files are left out.
    files: Vec<PublicImage>,
    /// Free text, may have line breaks.
    description: String,
    /// Free-form labels.
    tags: Vec<String>,
    /// The properties of the category.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ListingProperties, required = false)]
    properties: Option<Map<String, Value>>,
    /// When the listing was created.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The number of the revision: 1, and one more with each change.
    revision: i64,
    /// When this revision was stored.
    #[serde(rename = "updatedAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// When the listing was published.
    #[serde(rename = "publishedAtUTC", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    published_at: Option<Timestamp>,
    /// The distance from the point of the search to the shown coordinates in kilometres, rounded to metres; absent
    /// without a point.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    distance_km: Option<f64>,
}

/// An image of a public listing.
#[derive(Debug, Serialize, ToSchema)]
struct PublicImage {
    /// The id of the file.
    id: String,
    /// The name of the file.
    name: String,
    /// A link that needs no token, valid for at least an hour.
    url: String,
    /// Such links to smaller images, by their width in pixels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false)]
    urls: BTreeMap<String, String>,
}

impl Listing {
    /// Returns the listing with only what visitors see, apart from its files.
    pub(super) fn for_visitors(mut self) -> Self {
        self.user_id = String::new();
        self.location = self.location.map(Location::for_visitors);
        self
    }
}

impl PublicListing {
    fn new(listing: Listing, near: Option<Near>, links: &HashMap<Id, Arc<ImageLinks>>) -> Self {
        let listing = listing.for_visitors();
        let point = listing.location.as_ref().and_then(Location::point);
        let distance = |(near, point): (Near, _)| distance_km(near.point.unit_vector(), point);
        let to_image = |file: FileReference| {
            let links = links.get(&Id::parse(&file.id)?)?;
            let (url, urls) = (links.url.clone(), links.urls.clone());
            Some(PublicImage { id: file.id, name: file.name, url, urls })
        };
        Self {
            distance_km: near.zip(point.map(Point::unit_vector)).map(distance),
            id: listing.id,
            organisation_id: listing.organisation_id,
            organisation_name: listing.organisation_name,
            kind: listing.kind,
            status: listing.status,
            category_ids: listing.category_ids,
            location: listing.location,
            price: listing.price,
            files: listing.files.into_iter().filter_map(to_image).collect(),
            description: listing.description,
            tags: listing.tags,
            properties: listing.properties,
            created_at: listing.created_at,
            revision: listing.revision,
            updated_at: listing.updated_at.unwrap_or(listing.created_at),
            published_at: listing.published_at,
        }
    }
}

/// Returns what a visitor sees of stored listings. `near` is the point of the search.
///
/// # Errors
/// If a document is not that of a listing.
pub(super) async fn page_of_public_listings(
    visitor: &Visitor,
    links: &ImageLinkClient,
    documents: &[String],
    near: Option<Near>,
) -> Result<Vec<String>, Error> {
    let listings: Result<_, _> = documents.iter().map(|text| serde_json::from_str(text)).collect();
    show_listings(visitor, links, listings?, near).await
}

/// As [`page_of_public_listings`].
pub(super) async fn show_listings(
    visitor: &Visitor,
    links: &ImageLinkClient,
    listings: Vec<Listing>,
    near: Option<Near>,
) -> Result<Vec<String>, Error> {
    let files = listings.iter().flat_map(|listing| &listing.files);
    let ids: Vec<_> = files.filter_map(|file| Id::parse(&file.id)).collect();
    let urls = links.find(&PublicCall::of(visitor), &ids).await;
    let to_text = |listing| serde_json::to_string(&PublicListing::new(listing, near, &urls));
    Ok(listings.into_iter().map(to_text).collect::<Result<_, _>>()?)
}

/// The parameters of the listing search, without the wishlist, and with the statuses of active listings only.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct PublicSearchParams(ListingSearchParams);

impl PublicSearchParams {
    /// Returns the parameters of the listing search.
    pub(super) fn all(&self) -> &ListingSearchParams {
        &self.0
    }

    /// Returns the search as [`ListingSearchParams::parse`] does.
    pub(super) fn parse(
        &self,
        accepted: Format,
        categories: &Categories,
        near: Option<Point>,
        errors: &mut ValidationErrors,
    ) -> ListingSearch {
        let mut search = self.0.parse(accepted, categories, near, errors);
        if search.format != Format::Json {
            search.page.limit = search.page.limit.min(MAX_EXPORTED);
        }
        let bbox = search.bbox.map(BoundingBox::before_rounding);
        ListingSearch { wishlisted: false, audience: Audience::Visitors, bbox, ..search }
    }
}

impl IntoParams for PublicSearchParams {
    fn into_params(parameter_in: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let all = ListingSearchParams::into_params(parameter_in).into_iter();
        let public = all.filter(|parameter| parameter.name != "isWishlisted").map(|mut parameter| {
            if parameter.name == "f:status" {
                let active = [StatusFilter::ActiveSelling, StatusFilter::ActiveBuying];
                let values = active.map(StatusFilter::as_str);
                let schema = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(values));
                parameter.schema = Some(schema.build().into());
                parameter.description = Some("By default all active ones.".to_owned());
            }
            parameter
        });
        public.collect()
    }
}
