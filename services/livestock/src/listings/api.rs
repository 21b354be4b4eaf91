//! Reading listings.

use actix_web::web::Data;
use actix_web::{Either, HttpRequest, get};
use common::{
    Caller, Error, ErrorResponses, Format, JsonResponse, PageParams, PathId, Query, StreamingResponse,
    stream_by_ids,
};

use super::columns::table;
use super::facets::{FacetService, Facets};
use super::model::{Listing, append_distance};
use super::search::{self, ListingSearch, ListingSearchParams};
use super::store;
use crate::Livestock;

/// What a search answers with: listings; with `docs=false` what the filters may be set to.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[schema(as = SearchAnswer)]
#[expect(dead_code, reason = "for the document")]
enum Found {
    #[schema(title = "Listings")]
    Listings(Vec<Listing>),
    Facets(Facets<'static>),
}

/// Search listings
///
/// As CSV (`format=CSV` or `Accept: text/csv`) all matches are sent unless there is a `limit`; they are read in blocks: a
/// listing that is created or changed meanwhile may be missing, or stand where it stood before.
#[utoipa::path(operation_id = "search_listings", tag = "listings", security(("bearer" = [])), params(ListingSearchParams, PageParams),
    responses((status = 200, content((Found = "application/json"), (String = "text/csv"))), ErrorResponses))]
#[get("/listings")]
pub(super) async fn search_listings(
    caller: Caller,
    query: Query<ListingSearchParams>,
    request: HttpRequest,
    app: Data<Livestock>,
) -> Result<Either<JsonResponse, StreamingResponse>, Error> {
    let accepted = Format::accepted(&request, Format::Json);
    let search = query.check(|p, errors| p.parse(accepted, &app.categories, errors))?;
    if search.documents && search.format == Format::Csv {
        return streamed(app, caller, search).await.map(Either::Right);
    }
    if !search.documents {
        return FacetService::facets(app, caller, search).await.map(Either::Left);
    }
    let (page, near) = (search.page.clone(), search.near);
    let mut rows = app.db.read(move |c| search::store::search(c, &caller, &search)).await?;
    if let Some(near) = near {
        for document in &mut rows.documents {
            append_distance(document, near.point)?;
        }
    }
    Ok(Either::Left(rows.response(&request, &app.public_url, &page)))
}

/// All listings of a search as CSV, from its page on.
async fn streamed(
    app: Data<Livestock>,
    caller: Caller,
    search: ListingSearch,
) -> Result<StreamingResponse, Error> {
    let (counter, wanted) = (caller.clone(), search.clone());
    let total = app.db.read(move |c| search::store::count(c, &counter, &wanted)).await?;
    let (page, now, reader) = (search.page.clone(), search.now, caller.clone());
    let listings = stream_by_ids(
        &app.db,
        page,
        move |c, page| search::store::id_batch(c, &caller, &search, page),
        move |c, ids| search::store::list_by_ids(c, &reader, ids),
    );
    Ok(StreamingResponse::new(Format::Csv, table(app, now), "listings.csv", listings).await?.total(total))
}

/// Get listing
#[utoipa::path(operation_id = "find_listing", tag = "listings", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    responses((status = 200, body = Listing), ErrorResponses))]
#[get("/listings/{id}")]
pub(super) async fn find(caller: Caller, path: PathId, app: Data<Livestock>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let document = app.db.read(move |c| store::find(c, &caller, id)).await?;
    Ok(JsonResponse::raw(document.0))
}
