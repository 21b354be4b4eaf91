//! `GET /v1/files`, `GET /v1/files/{id}/info`, `GET /v1/files/usage` and `DELETE /v1/files/{id}`

use std::sync::Arc;

use actix_web::web::Data;
use actix_web::{HttpRequest, delete, get};
use common::wire::ActionResult;
use common::{Caller, Error, ErrorResponses, JsonResponse, ListParams, PathId, Query};

use crate::System;
use crate::examples;
use crate::files::limits::LimitedResponse;
use crate::files::model::Owner;
use crate::files::responses::{FileInfo, FileView, StorageUsage};
use crate::files::search::{FileListParams, ListJob};
use crate::files::store::{self, usage};

/// List files
///
/// Returns the files of the caller's organisation, newest first; for `admin` the files of all organisations. A caller
/// without an organisation sees the files that it uploaded without one. `f:organisationId` with another organisation
/// finds nothing, except for `admin`.
#[utoipa::path(operation_id = "list_files", tag = "files", security(("bearer" = [])),
    params(ListParams, FileListParams),
    responses((status = 200, body = [FileInfo]), ErrorResponses))]
#[get("/files")]
pub(super) async fn list(
    caller: Caller,
    query: Query<FileListParams>,
    request: HttpRequest,
    system: Data<System>,
) -> Result<LimitedResponse, Error> {
    let search = query.check(FileListParams::parse)?;
    let view = FileView { caller, brief: false, public_url: system.public_url.clone() };
    let job = Arc::new(ListJob::new(search, view));
    let (page, permit) = job.clone().run(&system.db, &system.large_responses).await?;
    Ok(LimitedResponse { response: page.response(&request, &system.public_url, job.page()), permit })
}

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

/// Get storage usage
///
/// Returns how much the files of the caller's organisation use, archived ones too; for a caller without an
/// organisation, those that it uploaded without one. An upload beyond `maximumBytes` is 403 with the reason
/// `quota_exceeded`.
#[utoipa::path(operation_id = "find_storage_usage", tag = "files", security(("bearer" = [])),
    responses((status = 200, body = StorageUsage), ErrorResponses))]
#[get("/files/usage")]
pub(super) async fn find_usage(caller: Caller, system: Data<System>) -> Result<JsonResponse, Error> {
    let owner = Owner::of_caller(&caller);
    let maximum_bytes = owner.max_bytes(&system.settings);
    let (bytes, files) = system.db.read(move |c| usage::find(c, &owner)).await?;
    JsonResponse::json(&StorageUsage { bytes, files, maximum_bytes })
}

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
    if let Some(blob) = unused
        && let Err(error) = system.image_copies.remove(&blob).await
    {
        // The file is archived nevertheless. The sweep removes the copies later.
        let error = format!("{:#}", anyhow::Error::from(error));
        tracing::warn!(
            content = blob.as_str(),
            error,
            "smaller copies of an archived image were not removed"
        );
    }
    JsonResponse::json(&ActionResult::new("The file is archived."))
}
