//! `GET /v1/categories`.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse};

use crate::Livestock;
use crate::categories::model::Category;

/// List categories
#[utoipa::path(operation_id = "list_categories", tag = "categories", security(("bearer" = [])),
    responses((status = 200, body = [Category]), ErrorResponses))]
#[get("/categories")]
pub(super) async fn list_categories(
    _caller: Caller,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    JsonResponse::json(&service.categories.iter().collect::<Vec<_>>())
}
