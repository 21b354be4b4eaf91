//! The operations that read listings.

use actix_web::web::Data;
use actix_web::{Either, HttpRequest, get};
use common::system::PublicCall;
use common::validation::ValidationErrors;
use common::{
    Caller, Error, ErrorResponses, Format, GEO_JSON_MEDIA_TYPE, IdsParams, JsonResponse, ListParams,
    MAX_FEATURES, PageParams, PathId, Query, StreamingResponse, WithEtag, Workbook, documents_by_ids,
    history, stream_by_ids,
};
use database::{AnyConnection, Id, Json};

use crate::listings::csv_columns::table_layout;
use crate::listings::events::{self, ListingEvent};
use crate::listings::facets::Facets;
use crate::listings::map::{FeatureCollection, points};
use crate::listings::model::Listing;
use crate::listings::search::{
    Candidates, FORMATS, ListingSearch, ListingSearchParams, parse_search, store as search_store,
};
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
) -> Result<WithEtag, Error> {
    let id = path.id()?;
    let read = move |c: &mut _| {
        let mut found = store::find_revised(c, &caller, id)?;
        store::mark(c, &caller, id, &mut found.document)?;
        Ok(found)
    };
    service.db.read(read).await
}

/// Get listings by ids
///
/// In the order of the request, each once. Ids that are unknown or that the caller may not see are listed in
/// `X-Missing-Ids`.
#[utoipa::path(operation_id = "list_listings_by_ids", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("ids" = String, Query, description = "Comma-separated, at most 100.", min_length = 1,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$",
        example = json!([examples::LISTING, examples::FOREIGN_LISTING].join(",")))),
    responses((status = 200, body = [Listing]), ErrorResponses))]
#[get("/listings/by-ids")]
pub(super) async fn list_listings_by_ids(
    caller: Caller,
    query: Query<IdsParams>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let ids = query.check(IdsParams::parse)?;
    let requested = ids.clone();
    let found = service.db.read(move |c| store::list_for_reader(c, &caller, &requested)).await?;
    Ok(documents_by_ids(&ids, found))
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
///
/// As GeoJSON (`format=GEOJSON` or `Accept: application/geo+json`) the response contains the places of the matches, or
/// with `clusterZoom` how many are in each cell of the map: at most 10,000 features.
#[utoipa::path(operation_id = "search_listings", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(PageParams, ListingSearchParams),
    responses((status = 200, content((SearchAnswer = "application/json"), (String = "text/csv"),
        (FeatureCollection = "application/geo+json"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), ErrorResponses))]
#[get("/listings")]
pub(super) async fn search_listings(
    caller: Caller,
    query: Query<ListingSearchParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<Either<JsonResponse, StreamingResponse>, Error> {
    let accepted = Format::accepted(&request, &FORMATS, Format::Json);
    let by = PublicCall::of(&caller);
    let parse = async |p: &ListingSearchParams, errors: &mut ValidationErrors| {
        let parse = |near| p.parse(accepted, &service.categories, near, errors);
        parse_search(&service.places, &by, p, parse).await
    };
    let search = query.check_async(parse).await?;
    if search.documents && search.format == Format::GeoJson {
        return map(&service, caller, search, &request).await.map(Either::Left);
    }
    if !search.documents {
        let facets = service.facets.facets(&service.db, service.categories.clone(), caller, search).await?;
        return Ok(Either::Left(JsonResponse::raw(facets)));
    }
    let candidates = service.facets.candidates(&service.db, &search).await?;
    if search.format != Format::Json {
        let reader = caller.clone();
        let list = move |c: &mut _, ids: &_| store::list_by_ids(c, &reader, ids);
        return export(&service, caller, (search, candidates), list).await.map(Either::Right);
    }
    let page = search.page.clone();
    let found = search_store::find_page(&service.db, caller, search, candidates).await?;
    Ok(Either::Left(found.response(&request, &service.public_url, &page)))
}

/// Answers a search with a map: its listings as points, or as clusters, up to 10,000.
pub(super) async fn map(
    service: &Livestock,
    caller: Caller,
    mut search: ListingSearch,
    request: &HttpRequest,
) -> Result<JsonResponse, Error> {
    search.page.limit = search.page.limit.min(MAX_FEATURES);
    // In a box or within a distance are only listings with coordinates.
    let may_lack_coordinates = search.bounding_area().is_none();
    let counts = if search.cluster_zoom.is_some() || may_lack_coordinates {
        Some(service.facets.map(&service.db, &caller, &search).await?)
    } else {
        None
    };
    let without_coordinates = counts.as_ref().map_or(0, |counts| counts.without_coordinates);
    if let (Some(_), Some(counts)) = (search.cluster_zoom, counts) {
        let total: u64 = counts.clusters.iter().map(|cluster| u64::from(cluster.count)).sum();
        let map = FeatureCollection::of_clusters(counts.clusters, search.page.limit, without_coordinates);
        let response = JsonResponse::json(&map)?.media_type(GEO_JSON_MEDIA_TYPE);
        return Ok(if search.count { response.header("X-Total-Count", total.to_string()) } else { response });
    }
    let candidates = service.facets.candidates(&service.db, &search).await?;
    let (page, audience, categories) = (search.page.clone(), search.audience, service.categories.clone());
    let mut found = search_store::find_page(&service.db, caller, search, candidates).await?;
    let (documents, is_truncated) = (std::mem::take(&mut found.documents), found.next.is_some());
    // Thousands of listings take some tenths of a second.
    let write = move || {
        let features = points(&documents, &categories, audience)?;
        JsonResponse::json(&FeatureCollection::new(features, is_truncated, without_coordinates))
    };
    let written = actix_web::web::block(write).await.map_err(|error| Error::Internal(error.into()))?;
    let response = written?.media_type(GEO_JSON_MEDIA_TYPE);
    Ok(found.add_headers(response, request, &service.public_url, &page))
}

/// Streams all listings of a search as CSV or XLSX, from the offset or cursor of its page up to its limit. `list`
/// returns the documents of a block of listings.
pub(super) async fn export(
    service: &Livestock,
    caller: Caller,
    (search, candidates): (ListingSearch, Candidates),
    list: impl Fn(&mut AnyConnection, &[Id]) -> Result<Vec<(Id, Json)>, Error> + Clone + Send + Sync + 'static,
) -> Result<StreamingResponse, Error> {
    let (page, now, format) = (search.page.clone(), search.now, search.format);
    let total = {
        let (caller, search, candidates) = (caller.clone(), search.clone(), candidates.clone());
        service.db.read_from_standby(move |c| search_store::count(c, &caller, &search, &candidates)).await?
    };
    let id_batch =
        move |c: &mut AnyConnection, page: &_| search_store::id_batch(c, &caller, &search, &candidates, page);
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
