//! `GET /v1/addresses` searches addresses.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::{Error, ErrorResponses, JsonResponse, Query, offset_links};

use crate::System;
use crate::places::model::AddressSearch;
use crate::places::params::SearchParams;

/// Search addresses
///
/// The response has the members of the best match, and all matches in `results`: exact matches first, then prefixes,
/// then similar spellings. Among matches of the same kind, places of enabled countries come first, then larger places.
#[utoipa::path(operation_id = "search_addresses", tag = "addresses", params(SearchParams),
    responses(
        (status = 200, body = AddressSearch, headers(("Link" = String, description = "RFC 8288: first, prev, next"))),
        (status = 404, description = "No container has this id."), ErrorResponses))]
#[get("/addresses")]
pub(super) async fn search_addresses(
    request: HttpRequest,
    query: Query<SearchParams>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (address_query, page) = query.check(SearchParams::parse)?;
    let (results, has_next) = system.places.search(&address_query).await?;
    let links = offset_links(&request, &system.public_url, &page, has_next);
    Ok(JsonResponse::json(&AddressSearch::from(results))?.links(links))
}
