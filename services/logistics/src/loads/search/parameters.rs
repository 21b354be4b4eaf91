//! The query parameters of the load search.

use common::validation::{Code, ValidationErrors};
use common::wire::{DateOrDateTime, QueryText};
use common::{Format, PageParams, Sorting};
use database::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::Object;

use super::LoadSearch;
use super::sorts::SORTS;

/// A load must contain every word of a query, so each costs a comparison with every load of the caller.
const MAX_WORDS: usize = 16;

/// Query parameters of the search, besides [`PageParams`] (docs/api/loads.md).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct LoadSearchParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: PageParams,
    /// One of `deliveryDateISO`, `createdAt`, `reference`, `status`, `organiser`, `carrier`, `commodity`, `weight`,
    /// `weightNet`; by default newest first.
    #[param(schema_with = sort_by)]
    sort_by: Option<String>,
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
    /// At most 16 words that must all occur in reference, ticket number, registration, parties, commodity, postcodes
    /// or tags.
    query: Option<QueryText>,
}

fn sort_by() -> Object {
    Sorting::parameter(&SORTS, &[])
}

impl LoadSearchParams {
    /// Returns the search, and adds invalid parameters to `errors`. `accepted` is the format that the `Accept` header
    /// prefers.
    pub fn parse(&self, accepted: Format, errors: &mut ValidationErrors) -> LoadSearch {
        let sorting = Sorting::from_params(self.sort_by.as_deref(), self.page.sort_desc, &SORTS);
        let (format, page) = self.page.parse(accepted, &sorting, errors);
        let (start, end) = date_range(self.start_date.as_ref(), self.end_date.as_ref(), errors);
        let query = self.query.as_deref().unwrap_or_default().to_lowercase();
        let words: Vec<_> = query.split_whitespace().map(str::to_owned).collect();
        if words.len() > MAX_WORDS {
            let maximum = serde_json::json!({ "maximum": MAX_WORDS });
            errors.push_with("query", Code::Length, format!("must have at most {MAX_WORDS} words"), maximum);
        }
        let text = |parameter: &Option<QueryText>| parameter.as_ref().map(|text| text.0.clone());
        LoadSearch {
            organiser_id: text(&self.organiser_id),
            carrier_id: text(&self.carrier_id),
            status: text(&self.status),
            start,
            end,
            completed: None,
            words,
            sorting,
            page,
            count: self.page.count,
            format,
        }
    }
}

/// Returns the first and the last instant of a range of dates. An end date includes its whole day.
pub fn date_range(
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
