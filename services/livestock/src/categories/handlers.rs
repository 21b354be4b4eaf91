//! The operation on categories.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse};
use utoipa_actix_web::service_config::ServiceConfig;

use crate::Livestock;
use crate::categories::model::Category;

/// Registers the operations.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(list_categories);
}

/// List categories
#[utoipa::path(operation_id = "list_categories", tag = "categories", security(("bearer" = [])),
    responses((status = 200, body = [Category]), ErrorResponses))]
#[get("/categories")]
async fn list_categories(_caller: Caller, service: Data<Livestock>) -> Result<JsonResponse, Error> {
    JsonResponse::json(&service.categories.iter().collect::<Vec<_>>())
}
