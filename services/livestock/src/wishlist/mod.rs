//! Wishlists: listings that users follow whatever their status. The search shows them (`isWishlisted`).

mod store;

pub(crate) use handlers::routes;

mod handlers {
    //! The operations on the caller's wishlist.

    use actix_web::web::Data;
    use actix_web::{delete, put};
    use common::wire::ActionResult;
    use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};
    use utoipa_actix_web::service_config::ServiceConfig;

    use super::store;
    use crate::{Livestock, examples};

    /// Registers the operations.
    pub(crate) fn routes(v1: &mut ServiceConfig) {
        v1.service(add_listing).service(remove_listing);
    }

    /// Add a listing to the wishlist
    ///
    /// A closed listing stays on the wishlist. Adding a listing again changes nothing.
    #[utoipa::path(operation_id = "add_listing_to_wishlist", tag = "wishlist", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
        params(("id" = String, Path, description = "The listing's id", example = json!(examples::FOREIGN_LISTING))),
        responses((status = 200, body = ActionResult), ErrorResponses))]
    #[put("/listings/{id}/wishlist")]
    async fn add_listing(
        caller: Caller,
        path: PathId,
        service: Data<Livestock>,
    ) -> Result<JsonResponse, Error> {
        let id = path.id()?;
        service.db.write(move |c| store::add(c, &caller, id)).await?;
        JsonResponse::json(&ActionResult::new("The listing is on your wishlist."))
    }

    /// Remove a listing from the wishlist
    ///
    /// Removing a listing that is not on the wishlist changes nothing.
    #[utoipa::path(operation_id = "remove_listing_from_wishlist", tag = "wishlist", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
        params(("id" = String, Path, description = "The listing's id", example = json!(examples::FOREIGN_LISTING))),
        responses((status = 200, body = ActionResult), ErrorResponses))]
    #[delete("/listings/{id}/wishlist")]
    async fn remove_listing(
        caller: Caller,
        path: PathId,
        service: Data<Livestock>,
    ) -> Result<JsonResponse, Error> {
        let id = path.id()?;
        service.db.write(move |c| store::remove(c, &caller, id)).await?;
        JsonResponse::json(&ActionResult::new("The listing is not on your wishlist."))
    }
}
