//! `GET /v1/loads/{id}`.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, PathId, Revised};

use crate::Logistics;
use crate::examples;
use crate::loads::model::Load;
use crate::loads::store;

/// Get the details of a load
#[utoipa::path(operation_id = "find_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD)),
        ("If-None-Match" = Option<String>, Header, description = "Revisions that the client knows")),
    responses((status = 200, body = Load, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 304, description = "The client knows this revision."), ErrorResponses))]
#[get("/loads/{id}")]
pub(super) async fn find(caller: Caller, path: PathId, app: Data<Logistics>) -> Result<Revised, Error> {
    let id = path.id()?;
    app.db.read(move |c| store::find(c, &caller, id)).await
}
