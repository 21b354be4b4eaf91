//! `GET /v1/loads/{id}`.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};

use crate::Logistics;
use crate::loads::model::Load;
use crate::loads::store;

/// Get the details of a load
#[utoipa::path(operation_id = "find_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id")),
    responses((status = 200, body = Load), ErrorResponses))]
#[get("/loads/{id}")]
pub(super) async fn find(caller: Caller, path: PathId, app: Data<Logistics>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let document = app.db.read(move |c| store::find(c, &caller, id)).await?;
    Ok(JsonResponse::raw(document.0))
}
