//! `POST /v1/files/resolve`

use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Data;
use actix_web::{post, rt};
use common::{Body, Caller, Error, ErrorResponses};

use crate::System;
use crate::files::limits::LimitedResponse;
use crate::files::resolve::{Publisher, Resolution, ResolveFiles, ResolveJob};
use crate::files::responses::{FileInfo, FileView};
use crate::files::sharing::StrippedFiles;

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
/// them. The operation is idempotent and returns the current state. It ignores `Idempotency-Key`.
#[utoipa::path(operation_id = "resolve_files", tag = "files", security(("bearer" = [])),
    request_body = ResolveFiles, extensions(("x-no-idempotency-key" = json!(true))),
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
