//! `GET /v1/files/{id}`

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, get};
use common::{Caller, Error, ErrorResponses, PathId};

use crate::System;
use crate::examples;
use crate::files::responses::{Binary, content_response};
use crate::files::store;

/// Download a file
///
/// Images and PDF are sent as `inline`, everything else as `attachment`. `Range` takes one range. The content of an
/// archived file can be downloaded by `admin` only.
#[utoipa::path(operation_id = "download_file", tag = "files", security(("bearer" = [])),
    params(("id" = String, Path, description = "The file's id", example = json!(examples::FILE))),
    responses(
        (status = 200, content_type = "*/*", body = inline(Binary)),
        (status = 206, content_type = "*/*", body = inline(Binary), description = "The requested range"),
        (status = 304, description = "The client's copy is current"),
        ErrorResponses))]
#[get("/files/{id}")]
pub(super) async fn download(
    caller: Caller,
    path: PathId,
    request: HttpRequest,
    system: Data<System>,
) -> Result<HttpResponse, Error> {
    let id = path.id()?;
    let (file, name) = system.db.read(move |c| store::find_content(c, &caller, id)).await?;
    content_response(&request, &system.store, &file, &name).await
}
