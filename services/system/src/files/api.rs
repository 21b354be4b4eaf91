//! The operations on files.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, delete, get, post};
use common::multipart::Payload;
use common::wire::ActionResult;
use common::{Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, PathId};
use database::{AnyConnection, Id};
use tokio::sync::OwnedSemaphorePermit;

use super::answer::{Binary, FileInfo, Uploaded};
use super::download::respond;
use super::kept::StoredContents;
use super::large::{Held, Permit};
use super::resolve::{ResolveFiles, Sharing, View, resolved};
use super::scan::refuse_infected;
use super::store;
use super::upload::receive;
use crate::System;

/// The longest wait of a call to resolve files for others of its tenant: less than the timeout of services that call.
const RESOLVE_TIMEOUT: Duration = Duration::from_millis(500);

/// Upload a file
///
/// At most 10 `file` parts of 25 MiB each, none empty; each becomes a file of its own.
#[utoipa::path(operation_id = "upload_file", tag = "files", security(("bearer" = [])),
    request_body(content = super::form::FileUploadForm, content_type = "multipart/form-data"),
    responses((status = 200, body = Uploaded), ErrorResponses))]
#[post("/files")]
pub(super) async fn upload(
    caller: Caller,
    idempotency: Idempotency,
    request: HttpRequest,
    payload: Payload,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let form = receive(&request, payload, &system).await?;
    let files = form.check(&caller)?;
    let fingerprint =
        form.0.fingerprint(&request, |part| (&part.name, &part.declared, &part.content.hash))?;
    let public_url = system.public_url.clone();
    idempotency
        .run(&system.db, fingerprint, async || {
            refuse_infected(&system, &form.0.files).await?;
            let kept = StoredContents::of(&system, form.0.files).await?;
            Ok(move |c: &mut AnyConnection| {
                store::create(c, &files, &kept)?;
                JsonResponse::json(&Uploaded::of(&files, &public_url))
            })
        })
        .await
}

/// Download a file
///
/// Images and PDF are for showing, all else is for saving. `Range` takes one range; an archived file is for `admin`.
#[utoipa::path(operation_id = "download_file", tag = "files", security(("bearer" = [])),
    params(("id" = String, Path, description = "The file's id")),
    responses(
        (status = 200, content_type = "*/*", body = inline(Binary)),
        (status = 206, content_type = "*/*", body = inline(Binary), description = "The range that was asked for"),
        (status = 304, description = "The client has it"),
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
    respond(&request, &system.store, &file, &name).await
}

/// Request file information
#[utoipa::path(operation_id = "find_file", tag = "files", security(("bearer" = [])),
    params(("id" = String, Path, description = "The file's id")),
    responses((status = 200, body = FileInfo), ErrorResponses))]
#[get("/files/{id}/info")]
pub(super) async fn info(caller: Caller, path: PathId, system: Data<System>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let file = system.db.read(move |c| store::find(c, &caller, id).map(|file| file.seen_by(&caller))).await?;
    JsonResponse::json(&FileInfo::of(file, &system.public_url))
}

/// Delete file (archives the file)
///
/// What refers to it still finds its information; its content is for `admin` only from now on.
#[utoipa::path(operation_id = "archive_file", tag = "files", security(("bearer" = [])),
    params(("id" = String, Path, description = "The file's id")),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[delete("/files/{id}")]
pub(super) async fn archive(
    caller: Caller,
    path: PathId,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    system.db.write(move |c| store::archive(c, &caller, id)).await?;
    JsonResponse::json(&ActionResult::new("The file is archived."))
}

/// Resolve files
///
/// What loads and listings need to know of the files they name. Ids that are unknown, archived or not readable are
/// left out and named in `X-Missing-Ids`. With `shareWith` and `unshareWith` the caller's own files are shared and
/// unshared, both or neither; other files stay as they are. The operation is idempotent and returns the current state,
/// so a repeat is never answered from an `Idempotency-Key`.
#[utoipa::path(operation_id = "resolve_files", tag = "files", security(("bearer" = [])),
    request_body = ResolveFiles, extensions(("x-no-idempotency-key" = json!(true))),
    responses(
        (status = 200, body = Vec<FileInfo>, headers(("X-Missing-Ids" = String, description = "Comma-separated ids"))),
        (status = 429, description = "Too many files are being resolved for the caller's organisation."),
        ErrorResponses))]
#[post("/files/resolve")]
pub(super) async fn resolve(
    caller: Caller,
    body: Body<ResolveFiles>,
    system: Data<System>,
) -> Result<Held, Error> {
    let (request, _) = body.check(ResolveFiles::rules)?;
    let tenant = caller.tenant();
    // Each call may read or write some MB: a tenant leaves connections to the database to others.
    let turn = system.resolving.acquire(&tenant, RESOLVE_TIMEOUT).await;
    let turn = turn.ok_or(Error::TenantBusy(
        "Too many of your files are being resolved: try again, one call after the other.",
    ))?;
    let view = View { caller, brief: request.is_brief(), public_url: system.public_url.clone() };
    let (ids, sharing) = request.into_parts();
    // The work holds the turn: the database goes on with it after the client hangs up.
    let parts = Arc::new((ids, sharing, view, turn));
    // Nothing of a large answer, and no connection to the database, is held while it waits for its permit.
    match run(&system, parts.clone(), None).await {
        Err(Error::Busy(_)) => run(&system, parts, Some(system.large_answers.wait(&tenant).await?)).await,
        answered => answered,
    }
}

/// Finds or shares the files. Without a permit for a large answer nothing is changed, and the files are not loaded: their
/// size is asked first. Files of a brief answer are loaded without a permit; they are in memory only while one of the
/// database's connections works for them.
async fn run(
    system: &System,
    parts: Arc<(Vec<Id>, Sharing, View, OwnedSemaphorePermit)>,
    permit: Option<Permit>,
) -> Result<Held, Error> {
    let large = system.large_answers.clone();
    let reads = parts.1.is_empty();
    let work = move |c: &mut AnyConnection| {
        let (ids, sharing, view, _turn) = &*parts;
        let mut permit = permit.clone();
        if view.may_be_large(ids) {
            let size = store::organisations_size(c, ids)? + sharing.added_size(ids.len());
            permit = large.permit(&view.caller.tenant(), size, permit.as_ref())?.or(permit);
        }
        let files = if reads {
            store::find_usable(c, &view.caller, ids)?
        } else {
            store::share(c, &view.caller, ids, sharing)?
        };
        resolved(ids, files, view, &large, permit.as_ref())
    };
    if reads { system.db.read(work).await } else { system.db.write(work).await }
}
