//! The parameters of the operations, and what no schema can say of them.

use common::PageRequest;
use common::validation::{Code, ValidationErrors};
use common::wire::{Name, QueryText};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use super::model::{AddressQuery, Coordinates};

/// Of the location by words.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct ByWords {
    /// `word.word.word`, in any case, with dots or spaces
    #[param(required = true, value_type = String, min_length = 1, max_length = 1000,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    query: QueryText,
}

impl ByWords {
    pub(super) fn understand(&self, errors: &mut ValidationErrors) -> String {
        required("query", &self.query, errors);
        self.query.to_string()
    }
}

/// Of the location by address id.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct ById {
    /// The id of a search result.
    #[param(required = true)]
    id: Name,
    /// Its source, in any case; the configured provider if absent
    source: Option<QueryText>,
}

impl ById {
    /// The id, and which of these sources it is of; the first if none is named.
    pub(super) fn understand(
        &self,
        sources: &[&'static str],
        errors: &mut ValidationErrors,
    ) -> (String, &'static str) {
        required("id", &self.id, errors);
        let named = |name: &QueryText| sources.iter().find(|source| source.eq_ignore_ascii_case(name.trim()));
        let found = self.source.as_ref().map_or(sources.first(), named);
        if found.is_none() {
            let message = format!("must be one of {}", sources.join(", "));
            errors.push_with("source", Code::Enum, message, json!({ "allowed": sources }));
        }
        (self.id.trim().to_owned(), found.copied().unwrap_or_default())
    }
}

/// Of the location by coordinates.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct ByCoordinates {
    /// Latitude in degrees
    #[param(required = true, minimum = -90, maximum = 90)]
    lat: f64,
    /// Longitude in degrees
    #[param(required = true, minimum = -180, maximum = 180)]
    lon: f64,
}

impl ByCoordinates {
    /// The schema has seen to their range; adding nothing turns -0 into 0.
    pub(super) fn understand(&self, _: &mut ValidationErrors) -> Coordinates {
        Coordinates { lat: self.lat + 0.0, lon: self.lon + 0.0 }
    }
}

/// Of the address search.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct Search {
    /// Free text: a place, an address, a postcode; with `id` it filters what is in the container
    query: QueryText,
    /// A container, whose contents are listed
    id: Option<Name>,
    /// Only matches in this country, by its ISO 3166-1 alpha-2 code
    #[serde(rename = "countryISO")]
    country_iso: Option<QueryText>,
    /// Matches to give; 10 if absent
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// Matches to skip
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
}

impl Search {
    /// What to look for, one match more than the page has, to know whether more follow; and the page.
    pub(super) fn understand(&self, errors: &mut ValidationErrors) -> (AddressQuery, PageRequest) {
        // One that was refused was given all the same.
        if self.id.is_none() && !errors.failed("id") {
            required("query", &self.query, errors);
        }
        let (limit, offset) = (self.limit.unwrap_or(10), self.offset.unwrap_or(0));
        let wanted = AddressQuery {
            text: self.query.split_whitespace().collect::<Vec<_>>().join(" "),
            within: self.id.as_ref().map(|id| id.trim().to_owned()),
            country: self.country_iso.as_ref().and_then(|iso| crate::countries::known(iso, errors)),
            limit: usize::try_from(limit).unwrap_or_default() + 1,
            offset: usize::try_from(offset).unwrap_or_default(),
        };
        (wanted, PageRequest { limit, offset, after: None })
    }
}

/// Blank counts as absent.
fn required(path: &str, text: &str, errors: &mut ValidationErrors) {
    if text.trim().is_empty() {
        errors.push(path, Code::Required, "is required");
    }
}
