//! `GET /v1/files/usage`

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse};

use crate::System;
use crate::files::responses::StorageUsage;
use crate::files::store::usage;
use crate::files::usage::Owner;

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
