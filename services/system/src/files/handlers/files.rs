//! The operations on files besides downloads and links: upload, search, metadata, usage, resolving of references and
//! archiving.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Data;
use actix_web::{HttpRequest, delete, get, post, rt};
use common::multipart::Payload;
use common::wire::ActionResult;
use common::{
    Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, ListParams, PathId, Query, Role,
};
use database::AnyConnection;

use crate::files::blob_store::StoredBlobs;
use crate::files::limits::LimitedResponse;
use crate::files::model::Owner;
use crate::files::privacy::StrippedFiles;
use crate::files::publish::Publisher;
use crate::files::resolve::{Resolution, ResolveFiles, ResolveJob};
use crate::files::responses::{FileInfo, FileView, StorageUsage, Uploaded};
use crate::files::scan::refuse_infected;
use crate::files::search::{FileListParams, ListJob};
use crate::files::store::{self, blobs, usage};
use crate::files::upload::{FileUploadForm, UploadForm};
use crate::{System, examples};

/// List files
///
/// Returns the files of the caller's organisation, newest first; for `admin` the files of all organisations. A caller
/// without an organisation sees the files that it uploaded without one. `f:organisationId` with another organisation
/// finds nothing, except for `admin`.
#[utoipa::path(operation_id = "list_files", tag = "files", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
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
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
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
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
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
    extensions(("x-roles" = json!([]))),
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

/// Resolve calls that a tenant may run at once: half of the connections of the smallest pool.
pub(crate) const MAX_TENANT_RESOLVES: usize = 2;
/// How long a call waits for other calls of its tenant. Shorter than the timeout of the services that call this
/// operation.
const RESOLVE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a call waits for another one of its tenant that strips images.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(30);

const RESOLVE_BUSY: &str = "Too many of your resolve calls are running: try again, one at a time.";
const PUBLISH_BUSY: &str = "Other files of yours are being shared with everybody: try again later.";

/// Resolve files
///
/// Returns the information that loads and listings need on the files that they refer to. Ids that are unknown, archived
/// or not readable are omitted and listed in `X-Missing-Ids`. `shareWith` and `unshareWith` share and unshare the
/// caller's own files in one transaction; other files are returned unchanged, unless the caller's organisation leaves
/// them; callers with the role `viewer` may not send them. The operation is idempotent and returns the current state.
/// It ignores `Idempotency-Key`.
#[utoipa::path(operation_id = "resolve_files", tag = "files", security(("bearer" = [])),
    request_body = ResolveFiles,
    extensions(("x-roles" = json!(["viewer", "weighbridge"])), ("x-no-idempotency-key" = json!(true))),
    responses(
        (status = 200, body = Vec<FileInfo>, headers(("X-Missing-Ids" = String, description = "Comma-separated ids"))),
        (status = 429, description = "Too many resolve calls of the caller's organisation are running."),
        ErrorResponses))]
#[post("/files/resolve")]
pub(super) async fn resolve(
    caller: Caller,
    body: Body<ResolveFiles>,
    system: Data<System>,
) -> Result<LimitedResponse, Error> {
    let (request, _) = body.check(ResolveFiles::rules)?;
    if request.changes_sharing() && caller.roles.contains(&Role::Viewer) {
        return Err(Error::Forbidden("The role viewer may resolve files, and not change their sharing."));
    }
    let tenant = caller.tenant();
    // A call may read or write several MB. The limit leaves database connections to other tenants.
    let permit = system.resolve_limits.acquire(&tenant, RESOLVE_TIMEOUT).await;
    let permit = permit.ok_or(Error::TenantBusy(RESOLVE_BUSY))?;
    let view = FileView { caller, brief: request.is_brief(), public_url: system.public_url.clone() };
    let job = Arc::new(ResolveJob::new(request, view));
    let settings = &system.settings;
    let stripped = settings.strip_metadata.then(|| Arc::new(StrippedFiles::new(settings.sweep_grace())));
    match job.clone().run(&system.db, &system.large_responses, permit, stripped).await? {
        Resolution::Done(response) => Ok(response),
        Resolution::Unstripped(_) => publish(system, job, &tenant).await,
    }
}

/// Runs a job that makes images public. Continues if the client disconnects, so that a retry finds the images stripped.
async fn publish(system: Data<System>, job: Arc<ResolveJob>, tenant: &str) -> Result<LimitedResponse, Error> {
    let permit = system.publish_limits.acquire(tenant, PUBLISH_TIMEOUT).await;
    let permit = permit.ok_or(Error::TenantBusy(PUBLISH_BUSY))?;
    let published = rt::spawn(async move {
        let _permit = permit;
        let publisher = Publisher {
            db: &system.db,
            blob_store: &system.blob_store,
            stripper: &system.stripper,
            large_responses: &system.large_responses,
            resolve_limits: &system.resolve_limits,
            grace: system.settings.sweep_grace(),
        };
        publisher.publish(job).await
    });
    published.await.map_err(|error| Error::Internal(error.into()))?
}

/// Upload a file
///
/// Takes up to 10 `file` parts of up to 25 MiB each. None may be empty. Each part becomes a file. An image that every
/// caller may download is stored without personal metadata; `hash` is that of the stored content. Files that exceed the
/// storage quota of their owner are 403 with the reason `quota_exceeded`.
#[utoipa::path(operation_id = "upload_file", tag = "files", security(("bearer" = [])),
    extensions(("x-roles" = json!(["weighbridge"]))),
    request_body(content = FileUploadForm, content_type = "multipart/form-data"),
    responses((status = 200, body = Uploaded), ErrorResponses))]
#[post("/files")]
pub(super) async fn upload(
    caller: Caller,
    idempotency: Idempotency,
    request: HttpRequest,
    payload: Payload,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let form = UploadForm::receive(&request, payload, &system.settings, &system.blob_store).await?;
    let mut upload = form.check(&caller)?;
    let fingerprint = form.fingerprint(&request)?;
    let (grace, public_url) = (system.settings.sweep_grace(), system.public_url.clone());
    let owner = Owner::of(&upload.first);
    let max_bytes = owner.max_bytes(&system.settings);
    let tenant = caller.tenant();
    idempotency
        .run(&system.db, fingerprint, async || {
            let mut contents = form.into_contents();
            refuse_infected(system.scanner.as_ref(), &contents).await?;
            if system.settings.strip_metadata {
                system.stripper.strip_upload(&tenant, &mut upload, &mut contents).await?;
            }
            let hashes: Vec<_> = contents.iter().map(|content| content.hash.clone()).collect();
            let (owner, added) = (owner.clone(), (upload.bytes(), upload.count()));
            let in_use = system.db.read(move |c| {
                // Before the contents are stored. The transaction checks it again.
                usage::check(c, &owner, added, max_bytes)?;
                blobs::find_usable_names(c, &hashes)
            });
            let in_use = in_use.await?;
            let stored = StoredBlobs::store(&system.blob_store, contents, in_use, grace).await?;
            Ok(move |c: &mut AnyConnection| {
                store::create(c, &upload, &stored, max_bytes)?;
                JsonResponse::json(&Uploaded::of(&upload, &public_url))
            })
        })
        .await
}
