//! The operations on places. None needs a caller; each is served for browsers too, under `/v1/public`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::{Error, ErrorResponses, JsonResponse, Query, offset_links};

use super::model::{AddressSearch, Location};
use super::query::{ByCoordinates, ById, ByWords, Search};
use crate::System;

/// Get location by three-word address
///
/// The coordinates are the centre of the cell. What is no address of the deployment's scheme is refused with up to
/// three near spellings in `data.suggestions`.
#[utoipa::path(operation_id = "find_location_by_words", tag = "locations", params(ByWords),
    responses((status = 200, body = Location), ErrorResponses))]
#[get("/locations/three-words")]
pub(super) async fn by_words(query: Query<ByWords>, system: Data<System>) -> Result<JsonResponse, Error> {
    let words = query.check(ByWords::understand)?;
    JsonResponse::json(&system.places.by_words(&words).await?)
}

/// Get location by address id
#[utoipa::path(operation_id = "find_location_by_address", tag = "locations", params(ById),
    responses((status = 200, body = Location), (status = 404, description = "There is nothing by that id."), ErrorResponses))]
#[get("/locations/address")]
pub(super) async fn by_id(query: Query<ById>, system: Data<System>) -> Result<JsonResponse, Error> {
    let sources = system.places.sources();
    let (id, source) = query.check(|query, errors| query.understand(&sources, errors))?;
    JsonResponse::json(&system.places.by_id(source, &id).await?)
}

/// Get location by coordinates
///
/// The coordinates are those asked for; the address is the nearest.
#[utoipa::path(operation_id = "find_location_by_coordinates", tag = "locations", params(ByCoordinates),
    responses((status = 200, body = Location), ErrorResponses))]
#[get("/locations/coordinates")]
pub(super) async fn by_coordinates(
    query: Query<ByCoordinates>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let at = query.check(ByCoordinates::understand)?;
    JsonResponse::json(&system.places.by_coordinates(at).await?)
}

/// Search addresses
///
/// The answer shows the best match's members and all matches in `results`: exact ones first, then prefixes, then near
/// spellings. Among matches of the same kind, places of enabled countries come first, then larger ones.
#[utoipa::path(operation_id = "search_addresses", tag = "addresses", params(Search),
    responses(
        (status = 200, body = AddressSearch, headers(("Link" = String, description = "RFC 8288: first, prev, next"))),
        (status = 404, description = "There is no container by that id."), ErrorResponses))]
#[get("/addresses")]
pub(super) async fn search(
    request: HttpRequest,
    query: Query<Search>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (wanted, page) = query.check(Search::understand)?;
    let mut results = system.places.search(&wanted).await?;
    let more = results.len() == wanted.limit;
    results.truncate(wanted.limit - 1);
    let links = offset_links(&request, &system.public_url, &page, more);
    Ok(JsonResponse::json(&AddressSearch::from(results))?.links(links))
}
