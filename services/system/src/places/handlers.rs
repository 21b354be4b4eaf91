//! `GET /v1/locations/…` finds a location by three words, by address id or by coordinates. `GET /v1/addresses`
//! searches addresses. The routes need no token and exist under `/v1` and `/v1/public`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::validation::{Code, ValidationErrors};
use common::wire::{ExternalId, QueryText, fold};
use common::{Error, ErrorResponses, JsonResponse, PageRequest, Query, offset_links};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use utoipa_actix_web::service_config::ServiceConfig;

use super::model::{AddressQuery, AddressSearch, Coordinates, Location};
use crate::System;
use crate::countries::parse_country_code;

/// Matches of a page if the request has no `limit`.
const DEFAULT_LIMIT: i64 = 10;

/// Registers the routes in one of the two groups.
pub(crate) fn routes(group: &mut ServiceConfig) {
    group.service(by_words);
    group.service(by_address_id);
    group.service(by_coordinates);
    group.service(search_addresses);
}

/// Get location by three-word address
///
/// The coordinates are the centre of the cell. An address that does not exist in the deployment's scheme is refused
/// with up to three similar addresses in `data.suggestions`.
#[utoipa::path(operation_id = "find_location_by_words", tag = "locations", params(WordsParams),
    responses((status = 200, body = Location), ErrorResponses))]
#[get("/locations/three-words")]
async fn by_words(query: Query<WordsParams>, system: Data<System>) -> Result<JsonResponse, Error> {
    let words = query.check(WordsParams::parse)?;
    JsonResponse::json(&system.places.find_by_words(&words).await?)
}

/// Get location by address id
#[utoipa::path(operation_id = "find_location_by_address", tag = "locations", params(AddressIdParams),
    responses(
        (status = 200, body = Location), (status = 404, description = "The source has no address with this id."),
        ErrorResponses))]
#[get("/locations/address")]
async fn by_address_id(query: Query<AddressIdParams>, system: Data<System>) -> Result<JsonResponse, Error> {
    let sources = system.places.sources();
    let (id, source) = query.check(|params, errors| params.parse(&sources, errors))?;
    JsonResponse::json(&system.places.find_by_address_id(source, &id).await?)
}

/// Get location by coordinates
///
/// Returns the requested coordinates with the nearest address.
#[utoipa::path(operation_id = "find_location_by_coordinates", tag = "locations", params(CoordinatesParams),
    responses((status = 200, body = Location), ErrorResponses))]
#[get("/locations/coordinates")]
async fn by_coordinates(
    query: Query<CoordinatesParams>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let coordinates = query.check(CoordinatesParams::parse)?;
    JsonResponse::json(&system.places.find_by_coordinates(coordinates).await?)
}

/// Search addresses
///
/// The response has the members of the best match, and all matches in `results`: exact matches first, then prefixes,
/// then similar spellings. Among matches of the same kind, places of enabled countries come first, then larger places.
#[utoipa::path(operation_id = "search_addresses", tag = "addresses", params(SearchParams),
    responses(
        (status = 200, body = AddressSearch, headers(("Link" = String, description = "RFC 8288: first, prev, next"))),
        (status = 404, description = "No container has this id."), ErrorResponses))]
#[get("/addresses")]
async fn search_addresses(
    request: HttpRequest,
    query: Query<SearchParams>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (address_query, page) = query.check(SearchParams::parse)?;
    let (results, has_next) = system.places.search(&address_query).await?;
    let links = offset_links(&request, &system.public_url, &page, has_next);
    Ok(JsonResponse::json(&AddressSearch::from(results))?.links(links))
}

/// Parameters of the lookup by three words.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct WordsParams {
    /// Three words separated by dots or spaces, in any case: `word.word.word`.
    #[param(required = true, value_type = String, min_length = 1, max_length = 1000, example = "traceable.backwoods.rowboat",
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    query: QueryText,
}

impl WordsParams {
    /// Returns the normalized words.
    fn parse(&self, errors: &mut ValidationErrors) -> String {
        require("query", &self.query, errors);
        normalize_words(&self.query)
    }
}

/// Parameters of the lookup by address id.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct AddressIdParams {
    /// Id of a search result.
    #[param(required = true, example = "place:2647074")]
    id: ExternalId,
    /// Source of the search result, in any case. Default: the configured provider.
    #[param(example = "gazetteer")]
    source: Option<QueryText>,
}

impl AddressIdParams {
    /// Returns the id and its source, one of `sources`. The first of them is the default.
    fn parse(&self, sources: &[&'static str], errors: &mut ValidationErrors) -> (String, &'static str) {
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
struct CoordinatesParams {
    /// Latitude in degrees (WGS84).
    #[param(required = true, minimum = -90, maximum = 90, example = 52.0565)]
    lat: f64,
    /// Longitude in degrees (WGS84).
    #[param(required = true, minimum = -180, maximum = 180, example = -2.716)]
    lon: f64,
}

impl CoordinatesParams {
    /// Returns the coordinates. The schema has checked their ranges.
    fn parse(&self, _: &mut ValidationErrors) -> Coordinates {
        // Adding 0 turns -0 into 0.
        Coordinates { lat: self.lat + 0.0, lon: self.lon + 0.0 }
    }
}

/// Parameters of the address search.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct SearchParams {
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
    fn parse(&self, errors: &mut ValidationErrors) -> (AddressQuery, PageRequest) {
        // An invalid `id` was removed but counts as present.
        // Punctuation alone is no text.
        let text = if fold(&self.query).is_empty() { "" } else { &*self.query };
        if self.id.is_none() && !errors.failed("id") {
            require("query", text, errors);
        }
        let (limit, offset) = (self.limit.unwrap_or(DEFAULT_LIMIT), self.offset.unwrap_or(0));
        let query = AddressQuery {
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
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
