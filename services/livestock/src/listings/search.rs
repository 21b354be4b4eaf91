//! The search for listings: its parameters and what they mean.

use common::problem::{Code, Problems};
use common::wire::Word;
use common::{Page, Sorting};
use database::Amount;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::model::{Kind, Sort, Status};
use super::terms::{AdditionalInfo, Sex};
use crate::categories::Categories;

/// Query parameters of the search (interface.md, 4.3).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct Parameters {
    /// Rows on a page; by default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// Rows to skip.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// Where the last page ended: from the `next` link.
    #[param(max_length = 4096)]
    cursor: Option<String>,
    /// `true`: count all matches, in `X-Total-Count`.
    count: bool,
    /// One of `createdAt`, `price`, `age`, `quantity`, `organisationName`; by default newest first.
    sort_by: Option<Word>,
    /// Descending if true, else ascending.
    sort_desc: Option<bool>,
    /// By default all active ones. `draft`: the caller's organisation's own.
    #[serde(rename = "f:status")]
    #[param(inline)]
    status: Option<StatusFilter>,
    /// A main category (`sheep`, `cattle`, `working dog`, `feed`, `bedding`) or a value of `properties.type`.
    #[serde(rename = "f:commodityType")]
    commodity_type: Option<Word>,
    /// Any of these is the breed or the breed type; repeated or comma-separated.
    #[serde(rename = "f:commodityBreed")]
    #[param(max_items = 50)]
    breeds: Vec<Word>,
    /// Any of these is the breed society; repeated or comma-separated.
    #[serde(rename = "f:commodityBreedSociety")]
    #[param(max_items = 50)]
    breed_societies: Vec<Word>,
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
    organisation_id: Option<Word>,
}

/// What `f:status` may be.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum StatusFilter {
    ActiveSelling,
    ActiveBuying,
    Sold,
    Found,
    Cancelled,
    Draft,
}

impl StatusFilter {
    fn meaning(self) -> (Status, Option<Kind>) {
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
    pub status: Status,
    pub kind: Option<Kind>,
    pub commodity_type: Option<CommodityType>,
    pub breeds: Vec<String>,
    pub breed_societies: Vec<String>,
    pub sexes: Option<Sex>,
    pub additional_info: Option<AdditionalInfo>,
    pub min_age: Option<Amount>,
    pub max_age: Option<Amount>,
    pub organisation_id: Option<String>,
    pub sorting: Sorting<Sort>,
    pub page: Page,
    pub count: bool,
}

/// What `f:commodityType` may name.
#[derive(Clone, Debug)]
pub enum CommodityType {
    /// A main category.
    Category(i32),
    /// A value of `properties.type`.
    Type(String),
}

const SORTS: [(&str, Sort); 5] = [
    ("createdAt", Sort::CreatedAt),
    ("price", Sort::Price),
    ("age", Sort::Age),
    ("quantity", Sort::Quantity),
    ("organisationName", Sort::OrganisationName),
];

impl Parameters {
    /// The search that is meant, and what is wrong with it.
    pub fn understand(&self, categories: &Categories, problems: &mut Problems) -> Search {
        let sorting = Sorting::new(self.sort_by.as_deref(), self.sort_desc, &SORTS, problems);
        let page = Page::new(self.limit, self.offset, self.cursor.as_deref(), &sorting.order, problems);
        if self.min_age.zip(self.max_age).is_some_and(|(min, max)| min > max) {
            problems.push("minAge", Code::Inconsistent, "must not be more than maxAge");
        }
        let (status, kind) = self.status.map_or((Status::Active, None), StatusFilter::meaning);
        let lower = |words: &[Word]| words.iter().map(|word| word.to_lowercase()).collect();
        Search {
            status,
            kind,
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
            sorting,
            page,
            count: self.count,
        }
    }
}

/// An age to compare with; nobody is as old as what does not fit.
fn months(age: f64) -> Amount {
    Amount::from_f64(age).unwrap_or(Amount::MAX)
}
