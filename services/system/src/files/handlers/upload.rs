//! `POST /v1/files`

use actix_web::web::Data;
use actix_web::{HttpRequest, post};
use common::multipart::Payload;
use common::{Caller, Error, ErrorResponses, Idempotency, JsonResponse};
use database::AnyConnection;

use crate::System;
use crate::files::blob_store::StoredBlobs;
use crate::files::model::Owner;
use crate::files::responses::Uploaded;
use crate::files::scan::refuse_infected;
use crate::files::store::{self, blobs, usage};
use crate::files::upload::{FileUploadForm, UploadForm};

/// Upload a file
///
/// Takes up to 10 `file` parts of up to 25 MiB each. None may be empty. Each part becomes a file. An image that every
/// caller may download is stored without personal metadata; `hash` is that of the stored content. Files that exceed the
/// storage quota of their owner are 403 with the reason `quota_exceeded`.
#[utoipa::path(operation_id = "upload_file", tag = "files", security(("bearer" = [])),
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
            let (owner, bytes) = (owner.clone(), upload.bytes());
            let in_use = system.db.read(move |c| {
                // Before the contents are stored. The transaction checks it again.
                usage::check(c, &owner, bytes, max_bytes)?;
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
