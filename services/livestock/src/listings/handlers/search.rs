//! `GET /v1/listings`.

use actix_web::web::Data;
use actix_web::{Either, HttpRequest, get};
use common::{
    Caller, Error, ErrorResponses, Format, JsonResponse, PageParams, Query, StreamingResponse, Workbook,
};

use super::export::export;
use crate::Livestock;
use crate::listings::facets::Facets;
use crate::listings::model::Listing;
use crate::listings::search::{ListingSearchParams, find_page, store};
use crate::listings::word_search::prepare_words;

/// The response of a search: listings, or facets with `docs=false`.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "exists for the OpenAPI document")]
enum SearchAnswer {
    #[schema(title = "Listings")]
    Listings(Vec<Listing>),
    Facets(Facets<'static>),
}

/// Search listings
///
/// As CSV (`format=CSV` or `Accept: text/csv`) or XLSX (`format=XLSX`) the response contains all matches, unless
/// `limit` is present; XLSX contains at most 1,000,000. The rows are read in blocks: a listing that is created or
/// changed meanwhile may be missing or in its old place.
#[utoipa::path(operation_id = "search_listings", tag = "listings", security(("bearer" = [])), params(PageParams, ListingSearchParams),
    responses((status = 200, content((SearchAnswer = "application/json"), (String = "text/csv"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), ErrorResponses))]
#[get("/listings")]
pub(super) async fn search_listings(
    caller: Caller,
    query: Query<ListingSearchParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<Either<JsonResponse, StreamingResponse>, Error> {
    let accepted = Format::accepted(&request, &Format::ALL, Format::Json);
    let mut search = query.check(|p, errors| p.parse(accepted, &service.categories, errors))?;
    prepare_words(&service.db, &service.facets, &mut search).await?;
    if !search.documents {
        let facets = service.facets.facets(&service.db, service.categories.clone(), caller, search).await?;
        return Ok(Either::Left(JsonResponse::raw(facets)));
    }
    if search.format != Format::Json {
        let reader = caller.clone();
        let list = move |c: &mut _, ids: &_| store::list_by_ids(c, &reader, ids);
        return export(&service, caller, search, list).await.map(Either::Right);
    }
    let page = search.page.clone();
    let found = find_page(&service.db, caller, search).await?;
    Ok(Either::Left(found.response(&request, &service.public_url, &page)))
}
