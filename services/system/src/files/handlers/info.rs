//! `GET /v1/files/{id}/info`

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};

use crate::System;
use crate::examples;
use crate::files::responses::FileInfo;
use crate::files::store;

/// Request file information
#[utoipa::path(operation_id = "find_file", tag = "files", security(("bearer" = [])),
    params(("id" = String, Path, description = "The file's id", example = json!(examples::FILE))),
    responses((status = 200, body = FileInfo), ErrorResponses))]
#[get("/files/{id}/info")]
pub(super) async fn info(caller: Caller, path: PathId, system: Data<System>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let file = system.db.read(move |c| store::find(c, &caller, id).map(|file| file.seen_by(&caller))).await?;
    JsonResponse::json(&FileInfo::of(file, &system.public_url))
}
