//! `GET /v1/listings`.

use actix_web::web::Data;
use actix_web::{Either, HttpRequest, get};
use common::{
    Caller, Error, ErrorResponses, Format, JsonResponse, PageParams, Query, StreamingResponse, Workbook,
    stream_by_ids,
};

use crate::Livestock;
use crate::listings::csv_columns::table_layout;
use crate::listings::facets::Facets;
use crate::listings::model::Listing;
use crate::listings::search::{ListingSearch, ListingSearchParams, find_page, store};
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
        return export(&service, caller, search).await.map(Either::Right);
    }
    let page = search.page.clone();
    let found = find_page(&service.db, caller, search).await?;
    Ok(Either::Left(found.response(&request, &service.public_url, &page)))
}

/// Streams all listings of a search as CSV or XLSX, from the offset or cursor of its page up to its limit.
async fn export(
    service: &Livestock,
    caller: Caller,
    search: ListingSearch,
) -> Result<StreamingResponse, Error> {
    let (page, now, format) = (search.page.clone(), search.now, search.format);
    let total = {
        let (caller, search) = (caller.clone(), search.clone());
        service.db.read(move |c| store::count(c, &caller, &search)).await?
    };
    let reader = caller.clone();
    let listings = stream_by_ids(
        &service.db,
        page,
        move |c, page| store::id_batch(c, &caller, &search, page),
        move |c, ids| store::list_by_ids(c, &reader, ids),
    );
    let layout = table_layout(service.categories.clone(), now);
    Ok(StreamingResponse::new(format, layout, "listings", listings).await?.total(total))
}
