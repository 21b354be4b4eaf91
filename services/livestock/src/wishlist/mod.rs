//! Listings that users keep an eye on, whatever becomes of them; the search shows them (`isWishlisted`).

mod store;

use actix_web::web::Data;
use actix_web::{delete, put};
use common::wire::ActionResult;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};
use utoipa_actix_web::service_config::ServiceConfig;

use crate::{Livestock, listings};

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(add).service(remove);
}

/// Add a listing to the wishlist
///
/// It stays there when it is closed. Adding it again changes nothing.
#[utoipa::path(operation_id = "add_listing_to_wishlist", tag = "wishlist", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[put("/listings/{id}/wishlist")]
async fn add(caller: Caller, path: PathId, app: Data<Livestock>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let added = app.db.write(move |c| {
        listings::find(c, &caller, id)?;
        store::add(c, &caller.user_id, id)
    });
    added.await?;
    JsonResponse::json(&ActionResult::new("The listing is on your wishlist."))
}

/// Remove a listing from the wishlist
///
/// Removing what is not there changes nothing.
#[utoipa::path(operation_id = "remove_listing_from_wishlist", tag = "wishlist", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[delete("/listings/{id}/wishlist")]
async fn remove(caller: Caller, path: PathId, app: Data<Livestock>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let removed = app.db.write(move |c| {
        listings::find(c, &caller, id)?;
        store::remove(c, &caller.user_id, id)
    });
    removed.await?;
    JsonResponse::json(&ActionResult::new("The listing is not on your wishlist."))
}
