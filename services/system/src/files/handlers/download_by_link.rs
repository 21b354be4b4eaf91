//! `GET /v1/public/files/{id}`

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, get};
use common::{Error, ErrorResponses, PathId, Query};

use super::download::{DownloadParams, send};
use crate::System;
use crate::examples;
use crate::files::links::{INVALID_LINK, LinkParams, SignedLink, find_key};
use crate::files::responses::{Binary, CachePolicy};
use crate::files::store;

/// Download a file by a signed link
///
/// The response is that of the download with a token. A link that was changed or has expired is 403, a link to an
/// archived file 404. The operation needs no token and allows every origin.
#[utoipa::path(operation_id = "download_file", tag = "files",
    params(("id" = String, Path, description = "The file's id", example = json!(examples::FILE)),
        DownloadParams, LinkParams),
    responses(
        (status = 200, content_type = "*/*", body = inline(Binary)),
        (status = 206, content_type = "*/*", body = inline(Binary), description = "The requested range"),
        (status = 304, description = "The client's copy is current"),
        ErrorResponses))]
#[get("/public/files/{id}")]
pub(super) async fn download_by_link(
    path: PathId,
    query: Query<DownloadParams>,
    link: Query<LinkParams>,
    request: HttpRequest,
    system: Data<System>,
) -> Result<HttpResponse, Error> {
    // A width that no link has is as wrong as one that the signature does not cover.
    let width = query.check(|params, _| params.width).map_err(|_| Error::Forbidden(INVALID_LINK))?;
    let id = path.id()?;
    let link = link.check(|params, _| SignedLink::parse(id, width, params))??;
    let target = link.target;
    let found = system.db.read(move |c| {
        link.verify(find_key(c, link.key)?.as_ref())?;
        store::find_linked_content(c, id)
    });
    let (file, name) = found.await?;
    // Links have no caller. Those of one owner share the limits on smaller images.
    let tenant = format!("links {}", file.organisation_id.as_ref().unwrap_or(&file.user_id));
    send(&request, &system, &tenant, &file, name, width, CachePolicy::Seconds(target.seconds_left())).await
}
