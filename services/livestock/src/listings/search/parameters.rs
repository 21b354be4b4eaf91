//! The parameters of the search and what they mean.

use common::validation::{Code, ValidationErrors};
use common::wire::QueryText;
use common::{Format, PageRequest, Sorting};
use database::{Amount, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::Object;

use super::super::geo::Point;
use super::super::terms::{AdditionalInfo, Sex};
use super::{CommodityType, Near, Search, Sort, StatusFilter};
use crate::categories::Categories;

/// Query parameters of the search (interface.md, 4.3).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct Parameters {
    /// Rows on a page. JSON: up to 100, by default 20. CSV: by default all.
    #[param(minimum = 1, maximum = 1_000_000)]
    limit: Option<i64>,
    /// Rows to skip.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// Where the last page ended: from the `next` link.
    #[param(max_length = 4096)]
    cursor: Option<String>,
    /// `true`: count all matches, in `X-Total-Count`.
    count: bool,
    /// One of `createdAt`, `price`, `age`, `quantity`, `organisationName`, `distance` (which needs a point); by default
    /// nearest first where a point is given, else newest first.
    #[param(schema_with = sort_by)]
    sort_by: Option<String>,
    /// Descending if true, else ascending.
    sort_desc: Option<bool>,
    /// By default all active ones; of a wishlist all but drafts. `draft`: the caller's organisation's own. `cancelled`:
    /// without those of other organisations that were never published.
    #[serde(rename = "f:status")]
    #[param(inline)]
    status: Option<StatusFilter>,
    /// A main category (`sheep`, `cattle`, `working dog`, `feed`, `bedding`) or a value of `properties.type`.
    #[serde(rename = "f:commodityType")]
    commodity_type: Option<QueryText>,
    /// Any of these is the breed or the breed type; repeated or comma-separated.
    #[serde(rename = "f:commodityBreed")]
    #[param(max_items = 50)]
    breeds: Vec<QueryText>,
    /// Any of these is the breed society; repeated or comma-separated.
    #[serde(rename = "f:commodityBreedSociety")]
    #[param(max_items = 50)]
    breed_societies: Vec<QueryText>,
    #[serde(rename = "f:commoditySexes")]
    #[param(inline)]
    sexes: Option<Sex>,
    #[serde(rename = "f:commodityAdditionalInfo")]
    #[param(inline)]
    additional_info: Option<AdditionalInfo>,
    /// All animals are at least this old, in months.
    #[param(minimum = 0)]
    min_age: Option<f64>,
    /// All animals are at most this old, in months.
    #[param(minimum = 0)]
    max_age: Option<f64>,
    #[serde(rename = "f:organisationId")]
    organisation_id: Option<QueryText>,
    /// Degrees north of a point; each listing then shows its distance from there.
    #[param(minimum = -90, maximum = 90)]
    latitude: Option<f64>,
    /// Degrees east of it.
    #[param(minimum = -180, maximum = 180)]
    longitude: Option<f64>,
    /// Listings farther from the point are not found, nor those without coordinates.
    #[param(exclusive_minimum = 0, maximum = 20_000)]
    distance_km: Option<f64>,
    /// `true`: only what the caller has on the wishlist.
    is_wishlisted: bool,
    /// `false`: no listings, only the values of the filters and how many listings each would leave: the 500 most frequent
    /// values of each filter.
    docs: Option<bool>,
    /// `JSON` or `CSV`, in any case; by default what the `Accept` header prefers, else JSON.
    format: Option<QueryText>,
}

const SORTS: [(&str, Sort); 6] = [
    ("createdAt", Sort::CreatedAt),
    ("price", Sort::Price),
    ("age", Sort::Age),
    ("quantity", Sort::Quantity),
    ("organisationName", Sort::OrganisationName),
    ("distance", Sort::Distance),
];

fn sort_by() -> Object {
    Sorting::parameter(&SORTS, &["distanceKm"])
}

impl Parameters {
    /// The search that is meant, and what is wrong with it; `accepted` is the format that the request prefers.
    pub fn understand(
        &self,
        accepted: Format,
        categories: &Categories,
        errors: &mut ValidationErrors,
    ) -> Search {
        let format = Format::named(self.format.as_deref(), accepted, errors);
        let near = self.near(errors);
        let sorting = self.sorting(near);
        let limit = Some(format.limit(self.limit, errors));
        let order = (sorting.order.as_str(), sorting.sort.values());
        let page = PageRequest::new(limit, self.offset, self.cursor.as_deref(), order, errors);
        let lower = |words: &[QueryText]| words.iter().map(|word| word.trim().to_lowercase()).collect();
        Search {
            status: self.status,
            commodity_type: self.commodity_type.as_deref().map(|name| match categories.find_main(name) {
                Some(id) => CommodityType::Category(id),
                None => CommodityType::Type(name.trim().to_lowercase()),
            }),
            breeds: lower(&self.breeds),
            breed_societies: lower(&self.breed_societies),
            sexes: self.sexes,
            additional_info: self.additional_info,
            min_age: self.min_age.map(months),
            max_age: self.max_age.map(months),
            organisation_id: self.organisation_id.as_ref().map(|id| id.0.clone()),
            wishlisted: self.is_wishlisted,
            near,
            now: Timestamp::now(),
            sorting,
            page,
            count: self.count,
            format,
            documents: self.docs.unwrap_or(true),
        }
    }

    /// The point, and how far from it. Its members come together, and distances need it.
    fn near(&self, errors: &mut ValidationErrors) -> Option<Near> {
        let limited = self.distance_km.is_some() || errors.failed("distanceKm");
        let by_distance = limited || self.sort_by.as_deref().is_some_and(is_distance);
        for (name, given, other) in
            [("latitude", self.latitude, self.longitude), ("longitude", self.longitude, self.latitude)]
        {
            if given.is_none() && (by_distance || other.is_some()) {
                errors.push(name, Code::Required, "is required: a point has a latitude and a longitude");
            }
        }
        let point = Point { lat: self.latitude?, lon: self.longitude? };
        Some(Near { point, within_km: self.distance_km })
    }

    fn sorting(&self, near: Option<Near>) -> Sorting<Sort> {
        let by = self.sort_by.as_deref();
        match near {
            // A cursor is of no use from another point.
            Some(Near { point, .. }) if by.is_none_or(is_distance) => {
                let name = format!("distance@{},{}", point.lat, point.lon);
                Sorting::of(&name, Sort::Distance, self.sort_desc.unwrap_or(false))
            }
            _ if by.is_some_and(is_distance) => Search::newest(),
            _ => Sorting::new(by, self.sort_desc, &SORTS),
        }
    }
}

/// The name of the response's member is as good.
fn is_distance(name: &str) -> bool {
    name == "distance" || name == "distanceKm"
}

/// An age to compare with; nobody is as old as what does not fit.
fn months(age: f64) -> Amount {
    Amount::from_f64(age).unwrap_or(Amount::MAX)
}
