//! `GET /v1/listings/{id}/events`.

use actix_web::get;
use actix_web::web::Data;
use common::{Admin, Authorized, Error, ErrorResponses, JsonResponse, PathId};

use crate::Livestock;
use crate::examples;
use crate::listings::events::{ListingEvent, store};

/// Events of a listing
///
/// All changes of the listing's status, oldest first.
#[utoipa::path(operation_id = "list_events_of_listing", tag = "listings", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::LISTING))),
    responses((status = 200, body = [ListingEvent]), ErrorResponses))]
#[get("/listings/{id}/events")]
pub(super) async fn list_events_of_listing(
    admin: Authorized<Admin>,
    path: PathId,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (id, admin) = (path.id()?, admin.clone());
    JsonResponse::json(&service.db.read(move |c| store::list(c, &admin, id)).await?)
}
