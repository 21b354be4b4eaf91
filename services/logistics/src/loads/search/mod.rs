//! The search for loads: its parameters and what they mean.

pub mod store;
mod words;

use common::validation::{Code, ValidationErrors};
use common::wire::{DateOrDateTime, QueryText};
use common::{Caller, Format, PageRequest, Sorting};
use database::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::Object;

use super::model::Sort;

/// Query parameters of the search (interface.md, 4.2).
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
    /// One of `deliveryDateISO`, `createdAt`, `reference`, `status`, `organiser`, `carrier`, `commodity`, `weight`,
    /// `weightNet`; by default newest first.
    #[param(schema_with = sort_by)]
    sort_by: Option<String>,
    /// Descending if true, else ascending.
    sort_desc: Option<bool>,
    /// The first delivery date.
    #[serde(rename = "startDateISO")]
    start_date: Option<DateOrDateTime>,
    /// The last delivery date; a date covers the whole day.
    #[serde(rename = "endDateISO")]
    end_date: Option<DateOrDateTime>,
    #[serde(rename = "f:organiserId")]
    organiser_id: Option<QueryText>,
    #[serde(rename = "f:carrierId")]
    carrier_id: Option<QueryText>,
    /// `upcoming` or `completed`.
    #[serde(rename = "f:status")]
    status: Option<QueryText>,
    /// At most 16 words that must all occur in reference, ticket number, registration, parties, commodity, postcodes or tags.
    query: Option<QueryText>,
    /// `JSON` or `CSV`, in any case; by default what the `Accept` header prefers, else JSON.
    format: Option<QueryText>,
}

/// A search, understood.
#[derive(Clone, Debug)]
pub struct Search {
    pub organiser_id: Option<String>,
    pub carrier_id: Option<String>,
    pub status: Option<String>,
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
    /// Only those completed, from the first instant to the last.
    pub completed: Option<(Option<Timestamp>, Option<Timestamp>)>,
    /// In lower case.
    pub words: Vec<String>,
    pub sorting: Sorting<Sort>,
    pub page: PageRequest,
    pub count: bool,
    pub format: Format,
}

impl Search {
    /// All loads completed in this range, oldest first.
    pub fn of_completed(range: (Option<Timestamp>, Option<Timestamp>), format: Format) -> Self {
        Self {
            organiser_id: None,
            carrier_id: None,
            status: None,
            start: None,
            end: None,
            completed: Some(range),
            words: Vec::new(),
            sorting: Sorting { sort: Sort::CompletedAt, desc: false, order: "completedAt".into() },
            page: PageRequest { limit: i64::MAX, offset: 0, after: None },
            count: false,
            format,
        }
    }

    /// True if an index has these loads in their order, so that going on after a row costs the same at any place.
    pub fn has_index(&self, caller: &Caller) -> bool {
        let by_date = self.start.is_some() || self.end.is_some();
        let by_party = self.organiser_id.is_some() || self.carrier_id.is_some();
        self.words.is_empty()
            && match self.sorting.sort {
                Sort::CreatedAt => !by_date && self.status.is_none(),
                Sort::DeliveryDate => !caller.admin && !by_party,
                Sort::CompletedAt => true,
                _ => false,
            }
    }
}

/// Each word is looked for in every text of the caller's loads.
const MAX_WORDS: usize = 16;

const SORTS: [(&str, Sort); 9] = [
    ("createdAt", Sort::CreatedAt),
    ("deliveryDateISO", Sort::DeliveryDate),
    ("reference", Sort::Reference),
    ("status", Sort::Status),
    ("organiser", Sort::Organiser),
    ("carrier", Sort::Carrier),
    ("commodity", Sort::Commodity),
    ("weight", Sort::Weight),
    ("weightNet", Sort::WeightNet),
];

fn sort_by() -> Object {
    Sorting::parameter(&SORTS, &[])
}

impl Parameters {
    /// The search that is meant, and what is wrong with it; `accepted` is the format that the request prefers.
    pub fn parse(&self, accepted: Format, errors: &mut ValidationErrors) -> Search {
        let format = Format::named(self.format.as_deref(), accepted, errors);
        let sorting = Sorting::new(self.sort_by.as_deref(), self.sort_desc, &SORTS);
        let (start, end) = range(self.start_date.as_ref(), self.end_date.as_ref(), errors);
        let limit = Some(format.limit(self.limit, errors));
        let order = (sorting.order.as_str(), sorting.sort.values());
        let page = PageRequest::new(limit, self.offset, self.cursor.as_deref(), order, errors);
        let words = self.query.as_deref().unwrap_or_default().to_lowercase();
        let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
        if words.len() > MAX_WORDS {
            let most = serde_json::json!({ "maximum": MAX_WORDS });
            errors.push_with("query", Code::Length, format!("must have at most {MAX_WORDS} words"), most);
        }
        let text = |word: &Option<QueryText>| word.as_ref().map(|w| w.0.clone());
        Search {
            organiser_id: text(&self.organiser_id),
            carrier_id: text(&self.carrier_id),
            status: text(&self.status),
            start,
            end,
            completed: None,
            words,
            sorting,
            page,
            count: self.count,
            format,
        }
    }
}

/// The instants that two dates include.
pub fn range(
    start: Option<&DateOrDateTime>,
    end: Option<&DateOrDateTime>,
    errors: &mut ValidationErrors,
) -> (Option<Timestamp>, Option<Timestamp>) {
    let (start, end) = (start.and_then(DateOrDateTime::start), end.and_then(DateOrDateTime::end));
    if start.zip(end).is_some_and(|(start, end)| start > end) {
        errors.push("startDateISO", Code::Inconsistent, "must not be after endDateISO");
    }
    (start, end)
}
