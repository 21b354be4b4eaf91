//! `PUT /v1/listings/{id}/wishlist`.

use actix_web::put;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};

use crate::Livestock;
use crate::examples;
use crate::wishlist::store;

/// Add a listing to the wishlist
///
/// A closed listing stays on the wishlist. Adding a listing again changes nothing.
#[utoipa::path(operation_id = "add_listing_to_wishlist", tag = "wishlist", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::FOREIGN_LISTING))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[put("/listings/{id}/wishlist")]
pub(super) async fn add_listing(
    caller: Caller,
    path: PathId,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    service.db.write(move |c| store::add(c, &caller, id)).await?;
    JsonResponse::json(&ActionResult::new("The listing is on your wishlist."))
}
