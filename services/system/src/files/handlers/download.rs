//! `GET /v1/files/{id}`

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, get};
use common::{Caller, Error, ErrorResponses, PathId, Query};
use serde::Deserialize;
use utoipa::{IntoParams, PartialSchema};

use crate::System;
use crate::examples;
use crate::files::blob_store::ContentName;
use crate::files::download::{CachePolicy, Representation, content_response};
use crate::files::images::{ImageCopy, Width};
use crate::files::links::tag;
use crate::files::model::File;
use crate::files::responses::Binary;
use crate::files::store;

/// Query parameters of a download.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct DownloadParams {
    /// Returns a smaller copy of a JPEG, PNG, GIF or WebP image, at most this wide. Other content is returned as it is.
    #[param(schema_with = Width::schema)]
    pub(super) width: Option<Width>,
}

/// Download a file
///
/// Images and PDF are sent as `inline`, everything else as `attachment`. `Range` takes one range. The content of an
/// archived file can be downloaded by `admin` only. With `width` the response is a WebP image if `Accept` allows it,
/// otherwise JPEG, or PNG if it is transparent.
#[utoipa::path(operation_id = "download_file", tag = "files", security(("bearer" = [])),
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
    let (id, tenant) = (path.id()?, tag(&caller.tenant()));
    let (file, name) = system.db.read(move |c| store::find_content(c, &caller, id)).await?;
    send(&request, &system, &tenant, &file, name, width, CachePolicy::Revalidate).await
}

/// Sends a file, or a smaller copy of its image. `name` is the name of its content in the store, `tenant` the
/// [tag](tag) of the tenant whose limits the copy counts against.
///
/// # Errors
/// 400 `range` if an image is too large for a smaller copy, 416, 500, 503.
pub(super) async fn send(
    request: &HttpRequest,
    system: &System,
    tenant: &str,
    file: &File,
    name: ContentName,
    width: Option<Width>,
    cache: CachePolicy,
) -> Result<HttpResponse, Error> {
    let mut representation = Representation::original(file, name.clone());
    if let Some(width) = width {
        let accepts = |media_type| common::accepts(request, media_type);
        let copy = ImageCopy::new(name.clone(), width, accepts("image/webp"));
        let accepts_original = accepts(&file.content_type);
        let found = system.image_copies.find_or_make(tenant, file, &name, &copy, accepts_original).await?;
        representation = match found {
            Some(found) => Representation::copy(file, &copy, found),
            None => representation.varying(),
        };
    }
    content_response(request, &system.store, representation, file.created_at, cache).await
}
