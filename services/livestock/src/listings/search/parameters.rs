//! The query parameters of the listing search.

use common::system::{PlaceClient, PostcodeQuery, PublicCall, district_of};
use common::validation::{Code, ValidationErrors};
use common::wire::{Postcode, QueryText, comparison_key};
use common::{Error, Format, PageParams, Sorting, parse_words};
use database::{Amount, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::Object;
use utoipa::openapi::path::Parameter;

use super::sorts::{ListingSortKey, SORTS, by_distance, by_publication};
use super::{Audience, CommodityType, ListingSearch, Near, StatusFilter};
use crate::categories::Categories;
use crate::listings::attributes::{AdditionalInfo, Sex};
use crate::listings::geo::{BoundingBox, Point};

/// The formats of the search.
pub(crate) const FORMATS: [Format; 4] = [Format::Json, Format::Csv, Format::Xlsx, Format::GeoJson];
/// The message for a `near` that is not known.
pub(crate) const UNKNOWN_NEAR: &str = "is no postcode, outward code or sector that is known";

/// The most characters of a postcode.
const MAX_POSTCODE_CHARS: usize = 10;

/// Query parameters of the search, besides [`PageParams`] (docs/api/listings.md).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct ListingSearchParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: PageParams,
    /// One of `publishedAt`, `createdAt`, `price`, `age`, `quantity`, `organisationName`, `distance` (which needs a
    /// point); by default nearest first where a point is given, else newest first.
    #[param(schema_with = sort_by)]
    sort_by: Option<String>,
    /// By default all active ones; of a wishlist all but drafts. `draft`: the caller's organisation's own. `cancelled`:
    /// without those of other organisations that were never published.
    #[serde(rename = "f:status")]
    #[param(inline)]
    status: Option<StatusFilter>,
    /// A main category (`sheep`, `cattle`, `working dog`, `feed`, `bedding`) or a value of `properties.type`.
    #[serde(rename = "f:commodityType")]
    #[param(example = "cattle")]
    commodity_type: Option<QueryText>,
    /// Any of these is the breed or the breed type; repeated or comma-separated.
    #[serde(rename = "f:commodityBreed")]
    #[param(max_items = 50, example = json!(["Hereford"]))]
    breeds: Vec<QueryText>,
    /// Any of these is the breed type; repeated or comma-separated.
    #[serde(rename = "f:breedType")]
    #[param(max_items = 50)]
    breed_types: Vec<QueryText>,
    /// Any of these is the breed society; repeated or comma-separated.
    #[serde(rename = "f:commodityBreedSociety")]
    #[param(max_items = 50)]
    breed_societies: Vec<QueryText>,
    /// One of the sexes or age groups.
    #[serde(rename = "f:commoditySexes")]
    #[param(inline)]
    sex: Option<Sex>,
    /// One of the further attributes.
    #[serde(rename = "f:commodityAdditionalInfo")]
    #[param(inline)]
    additional_info: Option<AdditionalInfo>,
    /// All animals are at least this old, in months.
    #[param(minimum = 0)]
    min_age: Option<f64>,
    /// All animals are at most this old, in months.
    #[param(minimum = 0)]
    max_age: Option<f64>,
    /// The organisation that the listing belongs to.
    #[serde(rename = "f:organisationId")]
    #[param(example = "penybont-farm")]
    organisation_id: Option<QueryText>,
    /// Degrees north of a point; each listing then shows its distance from there.
    #[param(minimum = -90, maximum = 90, example = 51.9469)]
    latitude: Option<f64>,
    /// Degrees east of it.
    #[param(minimum = -180, maximum = 180, example = -3.3915)]
    longitude: Option<f64>,
    /// A postcode (`LD3 7HR`), an outward code or a sector, in place of the coordinates of a point.
    near: Option<QueryText>,
    /// `west,south,east,north` in degrees: only listings with coordinates in this box, edges included. West may exceed
    /// east: the box then crosses the 180th meridian.
    #[param(min_items = 4, max_items = 4, example = json!([-5.5, 51.3, -2.6, 53.5]))]
    bbox: Vec<f64>,
    /// With `format=GEOJSON`: clusters of the listings in each cell instead of listings. A cell is the tile of the Web
    /// Mercator map at this zoom + 3.
    #[param(minimum = 0, maximum = 16)]
    cluster_zoom: Option<u32>,
    /// The largest distance from the point, in kilometres. Listings without coordinates are not found.
    #[param(exclusive_minimum = 0, maximum = 20_000, example = 50)]
    distance_km: Option<f64>,
    /// At most 16 words that must all occur in title, description, breed, breed type, society, tags, organisation,
    /// city, region or postcode.
    #[param(example = "hereford")]
    query: Option<QueryText>,
    /// `true`: only what the caller has on the wishlist.
    is_wishlisted: bool,
    /// `false`: no listings, only the values of the filters and how many listings each would leave: the 500 most
    /// frequent values of each filter.
    docs: Option<bool>,
}

/// Describes the parameter `sortBy`.
pub(crate) fn sort_by() -> Object {
    Sorting::parameter(&SORTS, &["distanceKm"])
}

impl ListingSearchParams {
    /// Returns the descriptions of all parameters of the search.
    pub(crate) fn descriptions() -> Vec<Parameter> {
        [PageParams::into_params(|| None), Self::into_params(|| None)].concat()
    }

    /// Returns the text of `near`, if it is to be looked up.
    pub(crate) fn near(&self) -> Option<&str> {
        let is_alone = self.latitude.is_none() && self.longitude.is_none();
        self.near.as_deref().filter(|_| is_alone)
    }

    /// Returns the search, and adds invalid parameters to `errors`. `accepted` is the format that the `Accept` header
    /// prefers, `near` the point of [`ListingSearchParams::near`], if it is known.
    pub(crate) fn parse(
        &self,
        accepted: Format,
        categories: &Categories,
        near: Option<Point>,
        errors: &mut ValidationErrors,
    ) -> ListingSearch {
        let near = self.parse_near(near, errors);
        let sorting = self.sorting(near);
        let (format, page) = self.page.parse_as(&FORMATS, accepted, &sorting, errors);
        let is_map = format == Format::GeoJson;
        if self.cluster_zoom.is_some() && !is_map && !errors.failed("format") {
            errors.push("clusterZoom", Code::Inconsistent, "requires format=GEOJSON");
        }
        let keys = |names: &[QueryText]| names.iter().map(|name| comparison_key(name)).collect();
        ListingSearch {
            status: self.status,
            commodity_type: self.commodity_type.as_deref().map(|name| match categories.find_main(name) {
                Some(id) => CommodityType::Category(id),
                None => CommodityType::Type(name.trim().to_lowercase()),
            }),
            breeds: keys(&self.breeds),
            breed_types: keys(&self.breed_types),
            breed_societies: keys(&self.breed_societies),
            sex: self.sex,
            additional_info: self.additional_info,
            min_age: self.min_age.map(months),
            max_age: self.max_age.map(months),
            organisation_id: self.organisation_id.as_ref().map(|id| id.0.clone()),
            wishlisted: self.is_wishlisted,
            near,
            bbox: self.bounding_box(errors),
            has_location: is_map,
            cluster_zoom: self.cluster_zoom,
            audience: Audience::Callers,
            words: parse_words(self.query.as_ref(), errors),
            now: Timestamp::now(),
            sorting,
            page,
            count: self.page.count,
            format,
            documents: self.docs.unwrap_or(true),
        }
    }

    /// Returns the point and the largest distance. Latitude and longitude are required together, and for any use of
    /// distances, unless `near` names the point.
    fn parse_near(&self, named: Option<Point>, errors: &mut ValidationErrors) -> Option<Near> {
        if errors.failed("near") {
            return None;
        }
        if self.near.is_some() {
            if self.near().is_none() {
                let message = "cannot be combined with latitude and longitude";
                errors.push("near", Code::Inconsistent, message);
            } else if named.is_none() {
                errors.push("near", Code::UnknownReference, UNKNOWN_NEAR);
            }
            return Some(Near { point: named?, within_km: self.distance_km });
        }
        let is_limited = self.distance_km.is_some() || errors.failed("distanceKm");
        let needs_point = is_limited || self.sort_by.as_deref().is_some_and(is_distance);
        for (name, value, other) in
            [("latitude", self.latitude, self.longitude), ("longitude", self.longitude, self.latitude)]
        {
            if value.is_none() && (needs_point || other.is_some()) {
                errors.push(name, Code::Required, "is required: a point has a latitude and a longitude");
            }
        }
        let point = Point { lat: self.latitude?, lon: self.longitude? };
        Some(Near { point, within_km: self.distance_km })
    }

    /// Returns the box.
    fn bounding_box(&self, errors: &mut ValidationErrors) -> Option<BoundingBox> {
        let [west, south, east, north] = *self.bbox.as_slice() else { return None };
        let is_valid =
            west.abs() <= 180.0 && east.abs() <= 180.0 && south.abs() <= 90.0 && north.abs() <= 90.0;
        if !is_valid {
            let message =
                "must be west,south,east,north: longitudes up to 180 and latitudes up to 90 degrees";
            errors.push("bbox", Code::Range, message);
        } else if south > north {
            errors.push("bbox", Code::Inconsistent, "must have a south that is not greater than its north");
        }
        (is_valid && south <= north).then_some(BoundingBox { west, south, east, north })
    }

    fn sorting(&self, near: Option<Near>) -> Sorting<ListingSortKey> {
        let (sort_by, desc) = (self.sort_by.as_deref(), self.page.sort_desc);
        match near {
            Some(Near { point, .. }) if sort_by.is_none_or(is_distance) => {
                by_distance(point, desc.unwrap_or(false))
            }
            // The missing point is reported.
            _ if sort_by.is_some_and(is_distance) => by_publication(),
            _ => Sorting::from_params(sort_by, desc, &SORTS),
        }
    }
}

/// Returns true for the sort by distance, also under the name of the response's member.
fn is_distance(name: &str) -> bool {
    name == "distance" || name == "distanceKm"
}

/// Converts an age in months. Saturates at [`Amount::MAX`].
fn months(age: f64) -> Amount {
    Amount::from_f64(age).unwrap_or(Amount::MAX)
}

/// Returns the coordinates of a postcode, an outward code or a sector. `None` if it is not known.
///
/// # Errors
/// 503 if system is unavailable.
pub(crate) async fn find_point(
    places: &PlaceClient,
    by: &PublicCall,
    text: &str,
) -> Result<Option<Point>, Error> {
    let Postcode(postcode) = Postcode::parse(text);
    if !has_form_of_postcode(&postcode) {
        return Ok(None);
    }
    let found = places.find_postcode(by, &PostcodeQuery { postcode, country: None }).await;
    let found =
        found.map_err(|cause| Error::Unavailable(cause, "The system service, which has the places,"))?;
    Ok(found.map(|point| Point { lat: point.lat, lon: point.lon }))
}

/// Returns whether a text can be a British or Irish postcode or its beginning.
fn has_form_of_postcode(text: &str) -> bool {
    (2..=MAX_POSTCODE_CHARS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ' || byte == b'-')
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && (text.bytes().any(|byte| byte.is_ascii_digit()) || district_of(&text.to_uppercase()).is_some())
}

/// Parses a search with the point of its parameter `near`, if it has one.
///
/// # Errors
/// As [`find_point`].
pub(crate) async fn parse_search(
    places: &PlaceClient,
    by: &PublicCall,
    parameters: &ListingSearchParams,
    parse: impl FnOnce(Option<Point>) -> ListingSearch,
) -> Result<ListingSearch, Error> {
    let found = match parameters.near() {
        Some(text) => find_point(places, by, text).await,
        None => Ok(None),
    };
    match found {
        Ok(point) => Ok(parse(point)),
        Err(error) => {
            // The other parameters are checked nevertheless.
            parse(Some(Point { lat: 0.0, lon: 0.0 }));
            Err(error)
        }
    }
}
