//! `DELETE /v1/files/{id}`

use actix_web::delete;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};

use crate::System;
use crate::examples;
use crate::files::store;

/// Delete file (archives the file)
///
/// The file's information stays available. Its content can then be downloaded by `admin` only.
#[utoipa::path(operation_id = "archive_file", tag = "files", security(("bearer" = [])),
    params(("id" = String, Path, description = "The file's id", example = json!(examples::FILE_TO_ARCHIVE))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[delete("/files/{id}")]
pub(super) async fn archive(
    caller: Caller,
    path: PathId,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let unused = system.db.write(move |c| store::archive(c, &caller, id)).await?;
    if let Some(content) = unused
        && let Err(error) = system.image_copies.remove(&content).await
    {
        // The file is archived nevertheless. The sweep removes the copies later.
        let error = format!("{:#}", anyhow::Error::from(error));
        tracing::warn!(
            content = content.as_str(),
            error,
            "smaller copies of an archived image were not removed"
        );
    }
    JsonResponse::json(&ActionResult::new("The file is archived."))
}
