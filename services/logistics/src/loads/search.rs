//! The search for loads: its parameters and what they mean.

use common::Page;
use common::problem::{Code, Problems};
use common::wire::{Iso, Word};
use database::Ts;
use serde::Deserialize;
use utoipa::IntoParams;

use super::model::Sort;

/// Query parameters of the search (interface.md, 4.2).
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
    cursor: Option<Word>,
    /// `true`: count all matches, in `X-Total-Count`.
    count: bool,
    /// One of `deliveryDateISO`, `createdAt`, `reference`, `status`, `organiser`, `carrier`, `commodity`, `weight`,
    /// `weightNet`; by default newest first.
    sort_by: Option<Word>,
    /// Descending if true, else ascending.
    sort_desc: Option<bool>,
    /// The first delivery date.
    #[serde(rename = "startDateISO")]
    start_date: Option<Iso>,
    /// The last delivery date; a date covers the whole day.
    #[serde(rename = "endDateISO")]
    end_date: Option<Iso>,
    #[serde(rename = "f:organiserId")]
    organiser_id: Option<Word>,
    #[serde(rename = "f:carrierId")]
    carrier_id: Option<Word>,
    /// `upcoming` or `completed`.
    #[serde(rename = "f:status")]
    status: Option<Word>,
    /// Words that must all occur in reference, ticket number, registration, parties, commodity, postcodes or tags.
    query: Option<Word>,
}

/// A search, understood.
#[derive(Clone, Debug)]
pub struct Search {
    pub organiser_id: Option<String>,
    pub carrier_id: Option<String>,
    pub status: Option<String>,
    pub start: Option<Ts>,
    pub end: Option<Ts>,
    /// In lower case.
    pub words: Vec<String>,
    pub sort: Sort,
    pub desc: bool,
    /// Names the order in cursors.
    pub order: String,
    pub page: Page,
    pub count: bool,
}

const SORTS: [(&str, Sort); 9] = [
    ("deliveryDateISO", Sort::DeliveryDate),
    ("createdAt", Sort::CreatedAt),
    ("reference", Sort::Reference),
    ("status", Sort::Status),
    ("organiser", Sort::Organiser),
    ("carrier", Sort::Carrier),
    ("commodity", Sort::Commodity),
    ("weight", Sort::Weight),
    ("weightNet", Sort::WeightNet),
];

impl Parameters {
    /// The search that is meant, and what is wrong with it.
    pub fn understand(&self, problems: &mut Problems) -> Search {
        let sort =
            self.sort_by.as_deref().map(|name| if name == "createdAtUTC" { "createdAt" } else { name });
        let found = SORTS.iter().find(|(name, _)| Some(*name) == sort);
        if sort.is_some() && found.is_none() {
            let names = SORTS.map(|(name, _)| name);
            let message = format!("must be one of {}", names.join(", "));
            problems.push_with("sortBy", Code::Enum, message, serde_json::json!({ "allowed": names }));
        }
        let (name, sort) = found.copied().unwrap_or(("createdAt", Sort::CreatedAt));
        // Neither given: newest first. `sortBy` alone ascends.
        let desc = self.sort_desc.unwrap_or(self.sort_by.is_none());
        let order = format!("{}{name}", if desc { "-" } else { "" });
        let (start, end) =
            (self.start_date.as_ref().and_then(Iso::start), self.end_date.as_ref().and_then(Iso::end));
        if start.zip(end).is_some_and(|(start, end)| start > end) {
            problems.push("startDateISO", Code::Inconsistent, "must not be after endDateISO");
        }
        let page = Page::new(self.limit, self.offset, self.cursor.as_deref(), &order, problems);
        let text = |word: &Option<Word>| word.as_ref().map(|w| w.0.clone());
        Search {
            organiser_id: text(&self.organiser_id),
            carrier_id: text(&self.carrier_id),
            status: text(&self.status),
            start,
            end,
            words: self
                .query
                .as_deref()
                .unwrap_or_default()
                .to_lowercase()
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            sort,
            desc,
            order,
            page,
            count: self.count,
        }
    }
}
