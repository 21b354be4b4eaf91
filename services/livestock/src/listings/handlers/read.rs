//! The operations that read listings.

use actix_web::web::Data;
use actix_web::{Either, HttpRequest, get};
use common::{
    Caller, Error, ErrorResponses, Format, JsonResponse, ListParams, PageParams, PathId, Query, Revised,
    StreamingResponse, Workbook, history, stream_by_ids,
};
use database::{AnyConnection, Id, Json};

use crate::listings::csv_columns::table_layout;
use crate::listings::events::{self, ListingEvent};
use crate::listings::facets::Facets;
use crate::listings::find_page::{find_page, prepare_words};
use crate::listings::model::Listing;
use crate::listings::search::{ListingSearch, ListingSearchParams, store as search_store};
use crate::listings::store;
use crate::{Livestock, examples};

/// Get listing
#[utoipa::path(operation_id = "find_listing", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::LISTING)),
        ("If-None-Match" = Option<String>, Header, description = "Revisions that the client knows")),
    responses((status = 200, body = Listing, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 304, description = "The client knows this revision."), ErrorResponses))]
#[get("/listings/{id}")]
pub(super) async fn find_listing(
    caller: Caller,
    path: PathId,
    service: Data<Livestock>,
) -> Result<Revised, Error> {
    let id = path.id()?;
    service.db.read(move |c| store::find_revised(c, &caller, id)).await
}

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
#[utoipa::path(operation_id = "search_listings", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(PageParams, ListingSearchParams),
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
        let list = move |c: &mut _, ids: &_| search_store::list_by_ids(c, &reader, ids);
        return export(&service, caller, search, list).await.map(Either::Right);
    }
    let page = search.page.clone();
    let found = find_page(&service.db, caller, search).await?;
    Ok(Either::Left(found.response(&request, &service.public_url, &page)))
}

/// Streams all listings of a search as CSV or XLSX, from the offset or cursor of its page up to its limit. `list`
/// returns the documents of a block of listings.
pub(super) async fn export(
    service: &Livestock,
    caller: Caller,
    search: ListingSearch,
    list: impl Fn(&mut AnyConnection, &[Id]) -> Result<Vec<(Id, Json)>, Error> + Clone + Send + Sync + 'static,
) -> Result<StreamingResponse, Error> {
    let (page, now, format) = (search.page.clone(), search.now, search.format);
    let total = {
        let (caller, search) = (caller.clone(), search.clone());
        service.db.read_from_standby(move |c| search_store::count(c, &caller, &search)).await?
    };
    let id_batch = move |c: &mut AnyConnection, page: &_| search_store::id_batch(c, &caller, &search, page);
    let listings = stream_by_ids(&service.db, page, id_batch, list);
    let layout = table_layout(service.categories.clone(), now);
    Ok(StreamingResponse::new(format, layout, "listings", listings).await?.total(total))
}

/// List the history of a listing
///
/// Returns an event for each change of the listing, oldest first, to its organisation and to `admin`.
#[utoipa::path(operation_id = "list_events_of_listing", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::LISTING)), ListParams),
    responses((status = 200, body = [ListingEvent]), ErrorResponses))]
#[get("/listings/{id}/events")]
pub(super) async fn list_events_of_listing(
    caller: Caller,
    path: PathId,
    query: Query<ListParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (page, count) =
        query.check(|parameters, errors| (parameters.parse(&history::order(), errors), parameters.count))?;
    let (id, read_page) = (path.id()?, page.clone());
    let read = move |c: &mut _| {
        store::find_own(c, &caller, id)?;
        events::store::list(c, id, &read_page, count)
    };
    Ok(service.db.read(read).await?.response(&request, &service.public_url, &page))
}
