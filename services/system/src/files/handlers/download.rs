//! `GET /v1/files/{id}`, and `GET /v1/public/files/{id}` for a signed link

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, get};
use common::{Caller, Error, ErrorResponses, PathId, Query};
use serde::Deserialize;
use utoipa::{IntoParams, PartialSchema};

use crate::System;
use crate::examples;
use crate::files::blob_store::BlobName;
use crate::files::download::{CachePolicy, Representation, respond};
use crate::files::images::{ImageCopy, Width};
use crate::files::links::{INVALID_LINK, LinkParams, Maker, SignedLink, repeats_parameter, tenant_tag};
use crate::files::model::File;
use crate::files::responses::Binary;
use crate::files::store;
use crate::keys::find_key;

/// Query parameters of a download.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct DownloadParams {
    /// Returns a smaller copy of a JPEG, PNG, GIF or WebP image, at most this wide. Other content is returned as it is.
    #[param(schema_with = Width::schema)]
    width: Option<Width>,
}

/// Download a file
///
/// Images and PDF are sent as `inline`, everything else as `attachment`. `Range` takes one range. The content of an
/// archived file can be downloaded by `admin` only. With `width` the response is a WebP image if `Accept` allows it,
/// otherwise JPEG, or PNG if it is transparent.
#[utoipa::path(operation_id = "download_file", tag = "files", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(("id" = String, Path, description = "The file's id", example = json!(examples::FILE)), DownloadParams),
    responses(
        (status = 200, content_type = "*/*", body = inline(Binary)),
        (status = 206, content_type = "*/*", body = inline(Binary), description = "The requested range"),
        (status = 304, description = "The client's copy is current"),
        ErrorResponses))]
#[get("/files/{id}")]
pub(super) async fn download(
    caller: Caller,
    path: PathId,
    query: Query<DownloadParams>,
    request: HttpRequest,
    system: Data<System>,
) -> Result<HttpResponse, Error> {
    let width = query.check(|params, _| params.width)?;
    let (id, tenant) = (path.id()?, tenant_tag(&caller.tenant()));
    let (file, name) = system.db.read(move |c| store::find_with_blob(c, &caller, id)).await?;
    send(&request, &system, &tenant, &file, name, width, CachePolicy::Revalidate).await
}

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
    // A wrong width is an error of whoever added it to a link without one; otherwise the link is wrong.
    let width = query.check(|params, _| params.width);
    let id = path.id()?;
    if repeats_parameter(request.query_string()) {
        return Err(Error::Forbidden(INVALID_LINK));
    }
    let asked = *width.as_ref().unwrap_or(&None);
    let link = link.check(|params, _| SignedLink::parse(id, asked, params))??;
    let target = link.target.clone();
    let found = system.db.read(move |c| {
        link.verify(find_key(c, link.key)?.as_ref())?;
        store::find_linked(c, &link.target)
    });
    let (file, name) = found.await?;
    let width = width?;
    // Smaller images count as those of the link's maker, or else of the file's owner.
    let maker = target.maker.as_ref().and_then(Maker::tenant);
    let tenant = maker.map_or_else(|| tenant_tag(&file.tenant()), str::to_owned);
    send(&request, &system, &tenant, &file, name, width, CachePolicy::Seconds(target.seconds_left())).await
}

/// Sends a file, or a smaller copy of its image. `name` is the name of its blob, `tenant` the
/// [tag](tenant_tag) of the tenant whose limits the copy counts against.
///
/// # Errors
/// 400 `range` if an image is too large for a smaller copy, 416, 500, 503.
async fn send(
    request: &HttpRequest,
    system: &System,
    tenant: &str,
    file: &File,
    name: BlobName,
    width: Option<Width>,
    cache: CachePolicy,
) -> Result<HttpResponse, Error> {
    let mut representation = Representation::original(file, name.clone());
    if let Some(width) = width {
        let accepts = |media_type| common::accepts(request, media_type);
        let copy = ImageCopy::new(name.clone(), width, accepts("image/webp"));
        let accepts_original = accepts(&file.content_type);
        let found = system.image_copies.find_or_make(tenant, file, &name, &copy, accepts_original).await?;
        if let Some(found) = found {
            representation = Representation::copy(file, &copy, found);
        }
    }
    respond(request, &system.blob_store, representation, file.created_at, cache).await
}
