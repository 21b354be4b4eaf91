//! `GET /v1/listings/{id}`.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};

use crate::Livestock;
use crate::examples;
use crate::listings::model::Listing;
use crate::listings::store;

/// Get listing
#[utoipa::path(operation_id = "find_listing", tag = "listings", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::LISTING))),
    responses((status = 200, body = Listing), ErrorResponses))]
#[get("/listings/{id}")]
pub(super) async fn find_listing(
    caller: Caller,
    path: PathId,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let document = service.db.read(move |c| store::find(c, &caller, id)).await?;
    Ok(JsonResponse::raw(document.0))
}
