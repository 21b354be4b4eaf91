//! The operations for visitors without a token.

use actix_web::web::Data;
use actix_web::{CustomizeResponder, Either, HttpRequest, Responder, get};
use common::system::PublicCall;
use common::validation::ValidationErrors;
use common::{
    Error, ErrorResponses, Format, JsonResponse, PageParams, PathId, Query, StreamingResponse, Visitor,
    WithEtag, Workbook,
};

use super::read::{export, map};
use super::{PUBLIC_CACHING, check_public_listings};
use crate::listings::facets::Facets;
use crate::listings::map::FeatureCollection;
use crate::listings::public::{PublicListing, PublicSearchParams, page_of_public_listings, show_listings};
use crate::listings::search::store::find_page;
use crate::listings::search::{FORMATS, parse_search};
use crate::listings::store;
use crate::{Livestock, examples};

/// Get a public listing
///
/// An active listing as visitors without a token see it. 404 for others, and if the setting `service.public_listings`
/// is off. A listing with images is sent also to clients that know its revision, because the links to images expire.
#[utoipa::path(operation_id = "find_listing", tag = "public listings",
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::LISTING)),
        ("If-None-Match" = Option<String>, Header, description = "Revisions that the client knows")),
    responses(
        (status = 200, body = PublicListing, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 304, description = "The client knows this revision."), ErrorResponses))]
#[get("/public/listings/{id}")]
pub(super) async fn find_public_listing(
    visitor: Visitor,
    path: PathId,
    service: Data<Livestock>,
) -> Result<Either<JsonResponse, CustomizeResponder<WithEtag>>, Error> {
    check_public_listings(&service)?;
    let id = path.id()?;
    let reader = visitor.clone();
    let found = service.db.read(move |c| store::find_public(c, &reader, id)).await?;
    let (revision, has_files) = (found.revision, !found.files.is_empty());
    let document = show_listings(&visitor, &service.image_links, vec![found], None).await?.concat();
    let (name, value) = PUBLIC_CACHING;
    Ok(if has_files {
        Either::Left(JsonResponse::raw(document).revision(revision).header(name, value))
    } else {
        Either::Right(WithEtag { document, revision }.customize().insert_header((name, value)))
    })
}

/// The response of a search: listings, or facets with `docs=false`.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "exists for the OpenAPI document")]
enum PublicSearchAnswer {
    #[schema(title = "PublicListings")]
    Listings(Vec<PublicListing>),
    Facets(Facets<'static>),
}

/// Search public listings
///
/// The search for visitors without a token: active listings only, as `GET /v1/public/listings/{id}` shows them.
/// Distances are those of the shown coordinates. A CSV file or workbook has at most 10,000 rows. 404 if the setting
/// `service.public_listings` is off.
#[utoipa::path(operation_id = "search_listings", tag = "public listings", params(PageParams, PublicSearchParams),
    responses((status = 200, content((PublicSearchAnswer = "application/json"), (String = "text/csv"),
        (FeatureCollection = "application/geo+json"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), ErrorResponses))]
#[get("/public/listings")]
pub(super) async fn search_public_listings(
    visitor: Visitor,
    query: Query<PublicSearchParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<Either<JsonResponse, CustomizeResponder<StreamingResponse>>, Error> {
    check_public_listings(&service)?;
    let accepted = Format::accepted(&request, &FORMATS, Format::Json);
    let by = PublicCall::of(&visitor);
    let parse = async |p: &PublicSearchParams, errors: &mut ValidationErrors| {
        let parse = |near| p.parse(accepted, &service.categories, near, errors);
        parse_search(&service.places, &by, p.all(), parse).await
    };
    let search = query.check_async(parse).await?;
    let (caller, (name, value)) = ((*visitor).clone(), PUBLIC_CACHING);
    if search.documents && search.format == Format::GeoJson {
        let shown = map(&service, caller, search, &request).await?;
        return Ok(Either::Left(shown.header(name, value)));
    }
    if !search.documents {
        let facets = service.facets.facets(&service.db, service.categories.clone(), caller, search).await?;
        return Ok(Either::Left(JsonResponse::raw(facets).header(name, value)));
    }
    let candidates = service.facets.candidates(&service.db, &search).await?;
    if search.format != Format::Json {
        let list = move |c: &mut _, ids: &_| store::list_public_by_ids(c, &visitor, ids);
        let exported = export(&service, caller, (search, candidates), list).await?;
        return Ok(Either::Right(exported.customize().insert_header(PUBLIC_CACHING)));
    }
    let (page, near) = (search.page.clone(), search.near);
    let mut found = find_page(&service.db, caller, search, candidates).await?;
    found.documents = page_of_public_listings(&visitor, &service.image_links, &found.documents, near).await?;
    Ok(Either::Left(found.response(&request, &service.public_url, &page).header(name, value)))
}
