//! The search for listings: [`parameters`] become a [`ListingSearch`], [`plan`] decides how it is read, and [`store`]
//! makes SQL of both.

mod parameters;
mod plan;
mod sorts;
pub(crate) mod store;

use common::{Format, PageRequest, Sorting};
use database::{Amount, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;

use super::attributes::{AdditionalInfo, Sex};
use super::calendar::{born_after, born_until};
use super::geo::{BoundingArea, BoundingBox, MAX_ROUNDING_KM, Point};
use super::model::{Kind, Status};

pub(crate) use parameters::{FORMATS, ListingSearchParams, UNKNOWN_NEAR, find_point, parse_search, sort_by};
pub(crate) use plan::Candidates;
pub(crate) use sorts::ListingSortKey;

/// The value of `f:status`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema, strum::IntoStaticStr, strum::VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum StatusFilter {
    ActiveSelling,
    ActiveBuying,
    Sold,
    Found,
    Cancelled,
    Draft,
}

impl StatusFilter {
    /// The statuses that facets count, in their order.
    pub(crate) const COUNTED: [Self; 4] = [Self::ActiveSelling, Self::ActiveBuying, Self::Sold, Self::Found];

    /// Returns the word of requests and responses.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the stored status that the filter matches, and the kind if the filter limits it.
    pub(crate) fn meaning(self) -> (Status, Option<Kind>) {
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
/// case. `None` and empty lists are no filters.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a parameter of its own")]
pub(crate) struct ListingSearch {
    /// `None`: all active listings, or all of a wishlist except drafts.
    pub(crate) status: Option<StatusFilter>,
    /// The main category, or one of the values of `properties.type`.
    pub(crate) commodity_type: Option<CommodityType>,
    /// One of these is the breed or the breed type.
    pub(crate) breeds: Vec<String>,
    /// One of these is the breed type.
    pub(crate) breed_types: Vec<String>,
    /// One of these is the breed society.
    pub(crate) breed_societies: Vec<String>,
    /// One of the sexes.
    pub(crate) sex: Option<Sex>,
    /// One of the further attributes.
    pub(crate) additional_info: Option<AdditionalInfo>,
    /// The lowest age in months: all animals of a match are at least as old.
    pub(crate) min_age: Option<Amount>,
    /// The highest age in months: all animals of a match are at most as old.
    pub(crate) max_age: Option<Amount>,
    /// The organisation that the listing belongs to.
    pub(crate) organisation_id: Option<String>,
    /// Only listings of the caller's wishlist.
    pub(crate) wishlisted: bool,
    /// The point that distances are measured from, and the largest distance.
    pub(crate) near: Option<Near>,
    /// The box that coordinates lie in. That of a public search is widened: see [`BoundingBox::before_rounding`].
    pub(crate) bbox: Option<BoundingBox>,
    /// Only listings with coordinates.
    pub(crate) has_location: bool,
    /// The zoom of the cells that a map counts listings in.
    pub(crate) cluster_zoom: Option<u32>,
    /// Who searches.
    pub(crate) audience: Audience,
    /// Words that a listing must all contain.
    pub(crate) words: Vec<String>,
    /// The time that dogs' ages are computed for.
    pub(crate) now: Timestamp,
    /// The order of the matches.
    pub(crate) sorting: Sorting<ListingSortKey>,
    /// The page to return.
    pub(crate) page: PageRequest,
    /// True if the number of matches was requested.
    pub(crate) count: bool,
    /// The format of the response.
    pub(crate) format: Format,
    /// False for a search for facets: the values of the filters and their counts.
    pub(crate) documents: bool,
}

/// Who searches for listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// A caller with a token.
    Callers,
    /// A visitor without a token.
    Visitors,
}

/// The point that distances are measured from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    /// The point itself.
    pub(crate) point: Point,
    /// The largest distance of a match, in kilometres.
    pub(crate) within_km: Option<f64>,
}

/// The value of `f:commodityType`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CommodityType {
    /// The id of a main category.
    Category(i32),
    /// A value of `properties.type`.
    Type(String),
}

impl ListingSearch {
    /// Returns true for a search of visitors: it finds active listings only, and measures distances to their
    /// [rounded](Point::rounded) coordinates.
    pub(crate) fn is_public(&self) -> bool {
        self.audience == Audience::Visitors
    }

    /// Returns true if all matches were published: none is a draft or was cancelled as a draft.
    pub(crate) fn finds_published_only(&self) -> bool {
        match self.status {
            None => !self.wishlisted,
            Some(filter) => StatusFilter::COUNTED.contains(&filter),
        }
    }

    /// Returns true for a search for words that trigram indexes do not have: they are shorter than three letters.
    pub(crate) fn has_short_words_only(&self) -> bool {
        !self.words.is_empty() && self.words.iter().all(|word| word.chars().count() < 3)
    }

    /// Returns this search within a distance.
    pub(crate) fn within(&self, km: f64) -> Self {
        let near = self.near.map(|near| Near { within_km: Some(km), ..near });
        Self { near, ..self.clone() }
    }

    /// Returns the largest distance of a match, in kilometres.
    pub(crate) fn within_km(&self) -> Option<f64> {
        self.near?.within_km
    }

    /// Returns an area that contains the locations of all listings within the distance and in the box.
    pub(crate) fn bounding_area(&self) -> Option<BoundingArea> {
        let margin = if self.is_public() { MAX_ROUNDING_KM } else { 0.0 };
        let around = self.near.and_then(|near| Some(near.point.around(near.within_km? + margin)));
        match (around, self.bbox.map(|bbox| bbox.area())) {
            (Some(around), Some(of_box)) => Some(around.intersection(&of_box)),
            (around, of_box) => around.or(of_box),
        }
    }

    /// Returns the unit vector of the point that distances are measured from; zeros without a point, when no distance
    /// is compared.
    pub(crate) fn origin(&self) -> [f64; 3] {
        self.near.map_or([0.0; 3], |near| near.point.unit_vector())
    }

    /// Returns [`born_until`] at the time of the search.
    pub(crate) fn born_until(&self, age: Amount) -> i64 {
        born_until(age, self.now)
    }

    /// Returns [`born_after`] at the time of the search.
    pub(crate) fn born_after(&self, age: Amount) -> i64 {
        born_after(age, self.now)
    }
}
