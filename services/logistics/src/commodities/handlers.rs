//! The operation on commodities.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse};
use utoipa_actix_web::service_config::ServiceConfig;

use crate::Logistics;
use crate::commodities::model::CatalogueEntry;

/// Registers the routes.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(list);
}

/// List commodities
#[utoipa::path(operation_id = "list_commodities", tag = "commodities", security(("bearer" = [])),
    responses((status = 200, body = [CatalogueEntry]), ErrorResponses))]
#[get("/commodities")]
async fn list(_caller: Caller, app: Data<Logistics>) -> Result<JsonResponse, Error> {
    JsonResponse::json(&app.commodities.entries().collect::<Vec<_>>())
}
