//! `GET /v1/public/listings/{id}`.

use actix_web::get;
use actix_web::web::Data;
use common::{Error, ErrorResponses, JsonResponse, PathId, Visitor};

use super::{PUBLIC_CACHING, check_public_listings};
use crate::Livestock;
use crate::examples;
use crate::listings::public::{PublicListing, page_of_public_listings, store};

/// Get a public listing
///
/// An active listing as visitors without a token see it. 404 for others, and if the setting `service.public_listings`
/// is off.
#[utoipa::path(operation_id = "find_listing", tag = "public listings",
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::LISTING))),
    responses((status = 200, body = PublicListing), ErrorResponses))]
#[get("/public/listings/{id}")]
pub(super) async fn find_public_listing(
    visitor: Visitor,
    path: PathId,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    check_public_listings(&service)?;
    let id = path.id()?;
    let reader = visitor.clone();
    let document = service.db.read(move |c| store::find(c, &reader, id)).await?;
    let shown = page_of_public_listings(&visitor, &service.image_links, &[document.0], None).await?;
    let (name, value) = PUBLIC_CACHING;
    Ok(JsonResponse::raw(shown.concat()).header(name, value))
}
