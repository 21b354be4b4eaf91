//! `DELETE /v1/listings/{id}/wishlist`.

use actix_web::delete;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};

use crate::Livestock;
use crate::examples;
use crate::wishlist::store;

/// Remove a listing from the wishlist
///
/// Removing a listing that is not on the wishlist changes nothing.
#[utoipa::path(operation_id = "remove_listing_from_wishlist", tag = "wishlist", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::FOREIGN_LISTING))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[delete("/listings/{id}/wishlist")]
pub(super) async fn remove_listing(
    caller: Caller,
    path: PathId,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    service.db.write(move |c| store::remove(c, &caller, id)).await?;
    JsonResponse::json(&ActionResult::new("The listing is not on your wishlist."))
}
