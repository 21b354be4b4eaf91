//! The query parameters, and the rules on them that no schema can state.

use common::PageRequest;
use common::validation::{Code, ValidationErrors};
use common::wire::{ExternalId, QueryText};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use super::model::{AddressQuery, Coordinates};
use crate::countries::parse_country_code;

/// Matches of a page if the request has no `limit`.
const DEFAULT_LIMIT: i64 = 10;

/// Parameters of the lookup by three words.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct WordsParams {
    /// Three words separated by dots or spaces, in any case: `word.word.word`.
    #[param(required = true, value_type = String, min_length = 1, max_length = 1000, example = "traceable.backwoods.rowboat",
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    query: QueryText,
}

impl WordsParams {
    /// Returns the normalized words.
    pub(super) fn parse(&self, errors: &mut ValidationErrors) -> String {
        require("query", &self.query, errors);
        normalize_words(&self.query)
    }
}

/// Parameters of the lookup by address id.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct AddressIdParams {
    /// Id of a search result.
    #[param(required = true, example = "place:2647074")]
    id: ExternalId,
    /// Source of the search result, in any case. Default: the configured provider.
    #[param(example = "gazetteer")]
    source: Option<QueryText>,
}

impl AddressIdParams {
    /// Returns the id and its source, one of `sources`. The first of them is the default.
    pub(super) fn parse(
        &self,
        sources: &[&'static str],
        errors: &mut ValidationErrors,
    ) -> (String, &'static str) {
        require("id", &self.id, errors);
        let by_name =
            |name: &QueryText| sources.iter().find(|source| source.eq_ignore_ascii_case(name.trim()));
        let source = self.source.as_ref().map_or(sources.first(), by_name);
        if source.is_none() {
            let message = format!("must be one of {}", sources.join(", "));
            errors.push_with("source", Code::Enum, message, json!({ "allowed": sources }));
        }
        (self.id.trim().to_owned(), source.copied().unwrap_or_default())
    }
}

/// Parameters of the lookup by coordinates.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct CoordinatesParams {
    /// Latitude in degrees (WGS84).
    #[param(required = true, minimum = -90, maximum = 90, example = 52.0565)]
    lat: f64,
    /// Longitude in degrees (WGS84).
    #[param(required = true, minimum = -180, maximum = 180, example = -2.716)]
    lon: f64,
}

impl CoordinatesParams {
    /// Returns the coordinates. The schema has checked their ranges.
    pub(super) fn parse(&self, _: &mut ValidationErrors) -> Coordinates {
        // Adding 0 turns -0 into 0.
        Coordinates { lat: self.lat + 0.0, lon: self.lon + 0.0 }
    }
}

/// Parameters of the address search.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct SearchParams {
    /// A place, an address or a postcode. With `id`, filters the contents of the container.
    #[param(example = "hereford")]
    query: QueryText,
    /// Id of a container whose contents are listed.
    id: Option<ExternalId>,
    /// ISO 3166-1 alpha-2 code of a country, in any case. Restricts the matches to this country.
    #[serde(rename = "countryISO")]
    #[param(example = "GB")]
    country_iso: Option<QueryText>,
    /// Maximum number of matches. Default: 10.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// Number of matches to skip. Default: 0.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
}

impl SearchParams {
    /// Returns the search and the requested page.
    pub(super) fn parse(&self, errors: &mut ValidationErrors) -> (AddressQuery, PageRequest) {
        // An invalid `id` was removed but counts as present.
        if self.id.is_none() && !errors.failed("id") {
            require("query", &self.query, errors);
        }
        let (limit, offset) = (self.limit.unwrap_or(DEFAULT_LIMIT), self.offset.unwrap_or(0));
        let query = AddressQuery {
            text: self.query.split_whitespace().collect::<Vec<_>>().join(" "),
            container_id: self.id.as_ref().map(|id| id.trim().to_owned()),
            country: self.country_iso.as_ref().and_then(|code| parse_country_code(code, errors)),
            limit: usize::try_from(limit).unwrap_or_default(),
            offset: usize::try_from(offset).unwrap_or_default(),
        };
        (query, PageRequest { limit, offset, after: None })
    }
}

/// Pushes a `required` error if the text is blank.
fn require(path: &str, text: &str, errors: &mut ValidationErrors) {
    if text.trim().is_empty() {
        errors.push(path, Code::Required, "is required");
    }
}

/// Writes words in the form that every scheme uses: in lower case, separated by dots.
fn normalize_words(text: &str) -> String {
    let is_separator = |c: char| ".,/".contains(c) || c.is_whitespace();
    let words = text.split(is_separator).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(".").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_normalized() {
        for text in ["Amber.Barn.Clover", " amber barn  clover ", "///amber. barn, clover"] {
            assert_eq!(normalize_words(text), "amber.barn.clover");
        }
    }
}
