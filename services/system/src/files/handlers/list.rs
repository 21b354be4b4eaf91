//! `GET /v1/files`

use std::sync::Arc;

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::{Caller, Error, ErrorResponses, ListParams, Query};

use crate::System;
use crate::files::limits::LimitedResponse;
use crate::files::responses::{FileInfo, FileView};
use crate::files::search::{FileListParams, ListJob};

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
