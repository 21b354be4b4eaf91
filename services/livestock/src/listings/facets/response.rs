//! The response with facets, and which values it lists (`docs/api/listings.md`, "Facets").

use std::borrow::Cow;
use std::collections::BTreeMap;

use common::Error;
use serde::Serialize;
use utoipa::ToSchema;

use super::counts::{Counts, TermCounts};
use crate::categories::Categories;

/// Values that the response lists of a filter.
pub(crate) const MAX_VALUES: usize = 500;
/// Characters of a listed value: the limit of a breed. Old listings may have longer breeds.
const MAX_VALUE_CHARS: usize = 60;

/// The values of the filters of a search, and the number of listings that each would leave. At most 300 kB: breeds and
/// societies have up to 500 values of 60 characters each, the values of the other filters are fixed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Facets<'a> {
    /// For each filter its 500 most frequent values, most frequent first. A count is the number of listings that the
    /// value would leave under all other filters of the request. Drafts and cancelled listings have no value of
    /// `f:status`; the other filters count them where the search finds them.
    filters: BTreeMap<&'static str, Vec<Facet<'a>>>,
    /// The number of listings that the same search finds.
    total: u32,
    /// `true` if a filter has more values than are listed; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    truncated: bool,
}

/// A value of a filter.
#[derive(Debug, Serialize, ToSchema)]
struct Facet<'a> {
    /// The value that the filter takes.
    value: Cow<'a, str>,
    /// The number of listings that the value would leave.
    count: u32,
}

impl<'a> Facets<'a> {
    /// Selects the values to list. `spelling` returns the text of the term with a number, if it has one.
    pub(crate) fn new(
        counts: &Counts<impl TermCounts>,
        categories: &'a Categories,
        spelling: impl Fn(u32) -> Option<Cow<'a, str>>,
    ) -> Self {
        let spelled = |(term, count)| Some((spelling(term)?, count));
        let main_categories = counts.categories().filter(|(_, count)| *count > 0);
        let main_categories =
            main_categories.filter_map(|(id, count)| Some((categories.main_name(&[id])?, count)));
        let filters = [
            ("f:status", most_frequent(counts.statuses())),
            ("f:commodityType", most_frequent(main_categories)),
            ("f:commodityBreed", most_frequent(counts.breeds.counted().filter_map(spelled))),
            ("f:commodityBreedSociety", most_frequent(counts.societies.counted().filter_map(spelled))),
            ("f:commoditySexes", most_frequent(counts.sexes())),
            ("f:commodityAdditionalInfo", most_frequent(counts.additional_info())),
        ];
        let truncated = filters.iter().any(|(_, (_, complete))| !complete);
        let filters = filters.into_iter().map(|(filter, (values, _))| (filter, values)).collect();
        Self { filters, total: counts.total, truncated }
    }

    /// Serializes the response as JSON.
    pub(crate) fn to_json(&self) -> Result<String, Error> {
        Ok(serde_json::to_string(self)?)
    }
}

/// Returns the values to list, and whether these are all: the most frequent values that are short and have no comma.
fn most_frequent<'a, V: Into<Cow<'a, str>>>(
    counts: impl Iterator<Item = (V, u32)>,
) -> (Vec<Facet<'a>>, bool) {
    let mut complete = true;
    let mut values = Vec::new();
    for (value, count) in counts.filter(|(_, count)| *count > 0) {
        let value = value.into();
        let is_short = value.len() <= MAX_VALUE_CHARS || value.chars().count() <= MAX_VALUE_CHARS;
        // Commas separate the values of a filter, so no filter can name a value that has one.
        if is_short && !value.contains(',') {
            values.push(Facet { value, count });
        } else {
            complete = false;
        }
    }
    let order = |a: &Facet<'_>, b: &Facet<'_>| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value));
    if values.len() > MAX_VALUES {
        values.select_nth_unstable_by(MAX_VALUES, order);
        values.truncate(MAX_VALUES);
        complete = false;
    }
    values.sort_unstable_by(order);
    (values, complete)
}
