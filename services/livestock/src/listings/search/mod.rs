//! The search for listings.

mod branch;
mod parameters;
mod sorts;
pub mod store;

use common::{Format, PageRequest, Sorting};
use database::search::SortValue;
use database::{Amount, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;

use super::attributes::{AdditionalInfo, Sex};
use super::geo::{BoundingArea, Point, chord2_of};
use super::model::{Kind, Status};
use super::search_fields::day;

pub use parameters::ListingSearchParams;
pub use sorts::ListingSortKey;

/// The value of `f:status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum StatusFilter {
    ActiveSelling,
    ActiveBuying,
    Sold,
    Found,
    Cancelled,
    Draft,
}

impl StatusFilter {
    /// The statuses that facets count, in their order.
    pub const COUNTED: [Self; 4] = [Self::ActiveSelling, Self::ActiveBuying, Self::Sold, Self::Found];

    /// Returns the word of requests and responses.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the stored status, and the kind if the filter limits it.
    pub fn meaning(self) -> (Status, Option<Kind>) {
        match self {
            Self::ActiveSelling => (Status::Active, Some(Kind::Selling)),
            Self::ActiveBuying => (Status::Active, Some(Kind::Buying)),
            Self::Sold => (Status::Sold, None),
            Self::Found => (Status::Found, None),
            Self::Cancelled => (Status::Cancelled, None),
            Self::Draft => (Status::Draft, None),
        }
    }
}

/// A search for listings: filters that a listing must all pass, an order, and a page. Texts, except ids, are in lower
/// case.
#[derive(Clone, Debug)]
pub struct ListingSearch {
    /// `None`: all active listings, or all of a wishlist except drafts.
    pub status: Option<StatusFilter>,
    pub commodity_type: Option<CommodityType>,
    pub breeds: Vec<String>,
    pub breed_societies: Vec<String>,
    pub sexes: Option<Sex>,
    pub additional_info: Option<AdditionalInfo>,
    pub min_age: Option<Amount>,
    pub max_age: Option<Amount>,
    pub organisation_id: Option<String>,
    /// Only listings of the caller's wishlist.
    pub wishlisted: bool,
    pub near: Option<Near>,
    /// The time that dogs' ages are computed for.
    pub now: Timestamp,
    pub sorting: Sorting<ListingSortKey>,
    pub page: PageRequest,
    /// True if the number of matches was requested.
    pub count: bool,
    pub format: Format,
    /// False for a search for facets: the values of the filters and their counts.
    pub documents: bool,
}

/// The point that distances are measured from.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    pub point: Point,
    /// The largest distance of a match.
    pub within_km: Option<f64>,
}

/// The value of `f:commodityType`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommodityType {
    /// A main category.
    Category(i32),
    /// A value of `properties.type`.
    Type(String),
}

/// The radii that a search for the nearest listings tries first.
const RINGS_KM: [f64; 2] = [30.0, 300.0];

impl ListingSearch {
    /// True if all matches have been on the market: no drafts, and no listings cancelled as drafts.
    pub fn is_of_market(&self) -> bool {
        match self.status {
            None => !self.wishlisted,
            Some(filter) => StatusFilter::COUNTED.contains(&filter),
        }
    }

    /// True for the most frequent kinds of searches. They make a few hundred different statements (a few dozen without
    /// cursors), so connections can keep them prepared.
    pub fn is_cacheable(&self) -> bool {
        self.sorting.by.key.is_common()
            && !matches!(self.status, Some(StatusFilter::Draft | StatusFilter::Cancelled))
            && !matches!(self.commodity_type, Some(CommodityType::Type(_)))
            && self.breeds.len() <= 1
            && self.breed_societies.is_empty()
            && self.sexes.is_none()
            && self.additional_info.is_none()
            && self.min_age.or(self.max_age).is_none()
            && self.organisation_id.is_none()
            && !self.wishlisted
            && self
                .bounding_area()
                .is_none_or(|area| area.longitudes.len() == 1 && area.few_bands().is_some())
    }

    /// Returns the largest distance of a match.
    pub fn within_km(&self) -> Option<f64> {
        self.near?.within_km
    }

    /// Returns an area that contains all locations within the distance.
    pub fn bounding_area(&self) -> Option<BoundingArea> {
        let near = self.near?;
        Some(near.point.around(near.within_km?))
    }

    /// Returns the point that distances are measured from, on the unit sphere.
    pub fn unit(&self) -> [f64; 3] {
        self.near.map_or([0.0; 3], |near| near.point.unit())
    }

    /// Returns the latest day of birth of dogs of at least this age. Age 0 includes dogs born tomorrow: another time
    /// zone may have that day already.
    pub fn born_until(&self, age: Amount) -> i64 {
        match (age.scaled() + 9_999) / 10_000 {
            0 => i64::MAX,
            months => day(self.now) - 32 * months,
        }
    }

    /// Returns the latest day of birth of dogs that are older than this age.
    pub fn born_after(&self, age: Amount) -> i64 {
        day(self.now) - 32 * (age.scaled() / 10_000 + 1)
    }

    /// Returns this search within growing distances, if the nearest listings come first. The last one is the search
    /// itself.
    pub fn rings(&self) -> Vec<Self> {
        let mut rings = vec![self.clone()];
        let is_nearest_first = self.sorting.by.key == ListingSortKey::Distance && !self.sorting.desc;
        if let Some(near) = self.near.filter(|_| is_nearest_first) {
            let limit = near.within_km.unwrap_or(f64::INFINITY);
            let is_useful = |km: f64| km < limit && self.begins_within(km);
            let ring = |km| Self { near: Some(Near { within_km: Some(km), ..near }), ..self.clone() };
            rings.extend(RINGS_KM.into_iter().rev().filter(|km| is_useful(*km)).map(ring));
            rings.reverse();
        }
        rings
    }

    /// True if the page of a search by distance begins within this distance. Listings without a location come last.
    fn begins_within(&self, km: f64) -> bool {
        match (self.page.position(), SortValue::from_float(chord2_of(km))) {
            (None, _) => true,
            (Some((Some(SortValue::Number(begin)), _)), SortValue::Number(end)) => begin < end,
            (Some(_), _) => false,
        }
    }
}
