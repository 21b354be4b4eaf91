//! The search for listings: what may be asked.

mod branch;
mod parameters;
pub mod store;

use common::{Format, PageRequest, SortValueKind, Sorting};
use database::{Amount, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;

use super::geo::{BoundingArea, Point, chord2_of, to_order};
use super::model::{Kind, Status};
use super::search_fields::day;
use super::terms::{AdditionalInfo, Sex};

pub use parameters::Parameters;

/// What `f:status` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatusFilter {
    ActiveSelling,
    ActiveBuying,
    Sold,
    Found,
    Cancelled,
    Draft,
}

impl StatusFilter {
    /// Those that are counted, in their order.
    pub const COUNTED: [Self; 4] = [Self::ActiveSelling, Self::ActiveBuying, Self::Sold, Self::Found];

    /// As written in requests and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ActiveSelling => "active-selling",
            Self::ActiveBuying => "active-buying",
            Self::Sold => "sold",
            Self::Found => "found",
            Self::Cancelled => "cancelled",
            Self::Draft => "draft",
        }
    }

    /// The status stored, and the type where it says one.
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

/// A search, understood. Texts are in lower case but for ids.
#[derive(Clone, Debug)]
pub struct Search {
    /// None: all active ones, or all of a wishlist but drafts.
    pub status: Option<StatusFilter>,
    pub commodity_type: Option<CommodityType>,
    pub breeds: Vec<String>,
    pub breed_societies: Vec<String>,
    pub sexes: Option<Sex>,
    pub additional_info: Option<AdditionalInfo>,
    pub min_age: Option<Amount>,
    pub max_age: Option<Amount>,
    pub organisation_id: Option<String>,
    /// The caller's wishlist only.
    pub wishlisted: bool,
    pub near: Option<Near>,
    /// What dogs' ages are reckoned to.
    pub now: Timestamp,
    pub sorting: Sorting<Sort>,
    pub page: PageRequest,
    pub count: bool,
    pub format: Format,
    /// False: only the filters' values and counts.
    pub documents: bool,
}

/// Where distances are from.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    pub point: Point,
    /// Nothing farther away is found.
    pub within_km: Option<f64>,
}

/// What a search may be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    CreatedAt,
    Price,
    Age,
    Quantity,
    OrganisationName,
    Distance,
}

impl Sort {
    /// What its values are in cursors.
    fn values(self) -> SortValueKind {
        match self {
            Self::CreatedAt => SortValueKind::Instants,
            Self::OrganisationName => SortValueKind::Texts,
            Self::Price | Self::Age | Self::Quantity | Self::Distance => SortValueKind::SomeNumbers,
        }
    }
}

/// What `f:commodityType` may name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommodityType {
    /// A main category.
    Category(i32),
    /// A value of `properties.type`.
    Type(String),
}

/// Of what is nearest first these surroundings are looked at before all.
const RINGS_KM: [f64; 2] = [30.0, 300.0];

impl Search {
    /// By default the newest come first.
    pub fn newest() -> Sorting<Sort> {
        Sorting::of("createdAt", Sort::CreatedAt, true)
    }

    /// True when all that is found was on the market: no drafts, and nothing cancelled that may have been one.
    pub fn is_of_market(&self) -> bool {
        match self.status {
            None => !self.wishlisted,
            Some(filter) => StatusFilter::COUNTED.contains(&filter),
        }
    }

    /// True for what is asked all day: such searches make a few hundred different statements in all (without cursors
    /// some dozens), so connections may keep them prepared.
    pub fn is_cacheable(&self) -> bool {
        let around = self.surroundings();
        matches!(self.sorting.sort, Sort::CreatedAt | Sort::Price | Sort::Distance)
            && !matches!(self.status, Some(StatusFilter::Draft | StatusFilter::Cancelled))
            && !matches!(self.commodity_type, Some(CommodityType::Type(_)))
            && self.breeds.len() <= 1
            && self.breed_societies.is_empty()
            && self.sexes.is_none()
            && self.additional_info.is_none()
            && self.min_age.or(self.max_age).is_none()
            && self.organisation_id.is_none()
            && !self.wishlisted
            && around.is_none_or(|around| around.longitudes.len() == 1 && around.few_bands().is_some())
    }

    /// Nothing farther away is found.
    pub fn within_km(&self) -> Option<f64> {
        self.near?.within_km
    }

    /// What holds everything near enough.
    pub fn surroundings(&self) -> Option<BoundingArea> {
        let near = self.near?;
        Some(near.point.around(near.within_km?))
    }

    /// Where distances are from, on the sphere of radius 1.
    pub fn unit(&self) -> [f64; 3] {
        self.near.map_or([0.0; 3], |near| near.point.unit())
    }

    /// The latest day of birth of a dog that is so old; none is younger than nothing, wherever it is tomorrow already.
    pub fn born_until(&self, age: Amount) -> i64 {
        match (age.scaled() + 9_999) / 10_000 {
            0 => i64::MAX,
            months => day(self.now) - 32 * months,
        }
    }

    /// The day of birth of a dog that is just too old for this.
    pub fn born_after(&self, age: Amount) -> i64 {
        day(self.now) - 32 * (age.scaled() / 10_000 + 1)
    }

    /// This search in ever wider surroundings, if it asks for what is nearest first; the last is the search itself.
    pub fn rings(&self) -> Vec<Self> {
        let mut rings = vec![self.clone()];
        let nearest_first = self.sorting.sort == Sort::Distance && !self.sorting.desc;
        if let Some(near) = self.near.filter(|_| nearest_first) {
            let limit = near.within_km.unwrap_or(f64::INFINITY);
            // Those that end before the page begins are of no use; what has no place comes after all of them.
            let begins = self.page.after_number().map_or(Some(-1), |(value, _)| value);
            let reaches = |km: f64| begins.is_some_and(|value| value < to_order(chord2_of(km)));
            let smaller = RINGS_KM.into_iter().filter(|km| *km < limit && reaches(*km)).rev();
            let ring = |km| Self { near: Some(Near { within_km: Some(km), ..near }), ..self.clone() };
            rings.extend(smaller.map(ring));
            rings.reverse();
        }
        rings
    }
}
