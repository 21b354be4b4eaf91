//! `GET /v1/listings/{id}`.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, PathId, Revised};

use crate::Livestock;
use crate::examples;
use crate::listings::model::Listing;
use crate::listings::store;

/// Get listing
#[utoipa::path(operation_id = "find_listing", tag = "listings", security(("bearer" = [])),
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
