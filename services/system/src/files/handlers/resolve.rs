//! `POST /v1/files/resolve`

use std::time::Duration;

use actix_web::post;
use actix_web::web::Data;
use common::{Body, Caller, Error, ErrorResponses};

use crate::System;
use crate::files::contents::remove_retired;
use crate::files::form::ResolveFiles;
use crate::files::large_responses::LimitedResponse;
use crate::files::resolve::ResolveJob;
use crate::files::responses::{FileInfo, FileView};

/// Resolve calls that a tenant may run at once: half of the connections of the smallest pool.
pub(crate) const MAX_TENANT_RESOLVES: usize = 2;
/// How long a call waits for other calls of its tenant. Shorter than the timeout of the services that call this
/// operation.
const RESOLVE_TIMEOUT: Duration = Duration::from_millis(500);

/// Resolve files
///
/// Returns the information that loads and listings need on the files that they refer to. Ids that are unknown, archived
/// or not readable are omitted and listed in `X-Missing-Ids`. `shareWith` and `unshareWith` share and unshare the
/// caller's own files in one transaction; other files are returned unchanged. The operation is idempotent and returns
/// the current state. It ignores `Idempotency-Key`.
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
    // A call may read or write several MB. The limit leaves database connections to other tenants.
    let tenant_permit = system.resolve_limits.acquire(&caller.tenant(), RESOLVE_TIMEOUT).await;
    let tenant_permit = tenant_permit
        .ok_or(Error::TenantBusy("Too many of your resolve calls are running: try again, one at a time."))?;
    let view = FileView { caller, brief: request.is_brief(), public_url: system.public_url.clone() };
    let mut job = ResolveJob::new(request, view, tenant_permit);
    if system.settings.strip_metadata {
        job = job.strip(&system.db, &system.store, system.settings.sweep_grace()).await?;
    }
    let replaces_contents = job.replaces_contents();
    let response = job.run(&system.db, &system.large_responses).await?;
    if replaces_contents && let Err(error) = remove_retired(&system.db, &system.store).await {
        // The files have their new contents all the same. The sweep removes the old ones later.
        let error = format!("{:#}", anyhow::Error::from(error));
        tracing::warn!(error, "contents with personal metadata could not be removed");
    }
    Ok(response)
}
