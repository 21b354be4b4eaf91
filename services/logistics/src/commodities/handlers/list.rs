//! `GET /v1/commodities`.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse};

use crate::Logistics;
use crate::commodities::model::CatalogueEntry;

/// List commodities
#[utoipa::path(operation_id = "list_commodities", tag = "commodities", security(("bearer" = [])),
    responses((status = 200, body = [CatalogueEntry]), ErrorResponses))]
#[get("/commodities")]
pub(super) async fn list(_caller: Caller, app: Data<Logistics>) -> Result<JsonResponse, Error> {
    JsonResponse::json(&app.commodities.entries().collect::<Vec<_>>())
}
