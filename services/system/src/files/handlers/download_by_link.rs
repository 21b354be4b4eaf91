//! `GET /v1/public/files/{id}`

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, get};
use common::{Error, ErrorResponses, PathId, Query};

use super::download::{DownloadParams, send};
use crate::System;
use crate::examples;
use crate::files::download::CachePolicy;
use crate::files::links::{INVALID_LINK, LinkParams, Maker, SignedLink, find_key, tag};
use crate::files::responses::Binary;
use crate::files::store;

/// Download a file by a signed link
///
/// The response is that of the download with a token. A link whose parameters were changed or that has expired is 403,
/// also if whoever made it may not read the file any more; a link to an archived file is 404. Additional parameters are
/// ignored. The operation needs no token and allows every origin. A link cannot be made up, so this example does not
/// succeed: use the `url` that the operations for links return.
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
    let target = link.target.clone();
    let found = system.db.read(move |c| {
        link.verify(find_key(c, link.key)?.as_ref())?;
        store::find_linked_content(c, &link.target)
    });
    let (file, name) = found.await?;
    // Smaller images count as those of the link's maker, or else of the file's owner.
    let maker = target.maker.as_ref().and_then(Maker::tenant);
    let tenant = maker.map_or_else(|| tag(&file.tenant()), str::to_owned);
    send(&request, &system, &tenant, &file, name, width, CachePolicy::Seconds(target.seconds_left())).await
}
