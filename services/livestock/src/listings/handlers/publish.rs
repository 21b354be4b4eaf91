//! The operations that change the status of a listing: publish and close.

use actix_web::post;
use actix_web::web::Data;
use common::system::{self, FoundFiles, SystemClient};
use common::wire::{ActionResult, FileReference};
use common::{
    Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId, Precondition, Reason,
};
use database::{Database, Id};

use crate::listings::form::CloseForm;
use crate::listings::model::Status;
use crate::listings::{status_changed, store};
use crate::{Livestock, examples};

/// The message of an attempt whose draft got other files after these were looked up.
const EDITED: &str = "The draft was edited at the same time.";
/// Attempts to publish a draft that is edited at the same time.
const MAX_ATTEMPTS: u32 = 20;

/// Publish a draft
///
/// Everybody can then find the listing and read those of its files that belong to its organisation. A draft with a file
/// that is archived or not readable is not published. Publishing an active listing changes nothing.
#[utoipa::path(operation_id = "publish_listing", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::DRAFT)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    responses((status = 200, body = ActionResult),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/listings/{id}/publish")]
pub(super) async fn publish_listing(
    caller: Caller,
    path: PathId,
    condition: Precondition,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let response = JsonResponse::json(&ActionResult::new("The listing is published."))?;
    let mut attempts = 0;
    let (response, output) = loop {
        let run = idempotency.clone().run_with_output(&service.db, fingerprint.clone(), async || {
            let (files, named) = look_up_files(&service.db, &service.files, &caller, id).await?;
            let (caller, condition, response) = (caller.clone(), condition.clone(), response.clone());
            Ok(move |c: &mut _| {
                let (listing, changed) = store::change_status(c, &caller, id, &condition, Status::Active)?;
                if changed && listing.files != named {
                    return Err(Error::conflict(Reason::ListingDraft, EDITED));
                }
                let share = || files.share(&caller, id, &[&listing.organisation_id], listing.audience());
                let share = if changed { share() } else { None };
                system::record_share(c, share.as_ref())?;
                Ok((response.clone(), (changed, share)))
            })
        });
        attempts += 1;
        match run.await {
            Err(Error::Conflict(message, _)) if message == EDITED && attempts < MAX_ATTEMPTS => {}
            Err(Error::Conflict(message, _)) if message == EDITED => {
                return Err(Error::Unavailable(
                    anyhow::anyhow!("the draft is edited all the time"),
                    "The draft",
                ));
            }
            result => break result?,
        }
    };
    if let Some((changed, share)) = output {
        if changed {
            service.webhooks.wake();
            status_changed(Status::Active).increment(1);
        }
        service.shares.share(share).await;
    }
    Ok(response)
}

/// Looks up the files of a draft, and returns them with the references in the draft. Returns none for an active listing
/// without calling system: the outbox retries the shares of its files that have failed.
///
/// # Errors
/// If system is unavailable, or a file is archived or not readable for the caller.
async fn look_up_files(
    db: &Database,
    client: &SystemClient,
    caller: &Caller,
    id: Id,
) -> Result<(FoundFiles, Vec<FileReference>), Error> {
    let reader = caller.clone();
    let draft = db.read(move |c| store::find_publishable(c, &reader, id)).await?;
    let Some(draft) = draft else { return Ok((FoundFiles::default(), Vec::new())) };
    let files = client.look_up(caller, &draft.files).await?;
    files.references()?;
    Ok((files, draft.files))
}

/// Close a listing
///
/// A draft can be cancelled; it stays visible to its organisation only. Closing a listing again with the same status
/// changes nothing.
#[utoipa::path(operation_id = "close_listing", tag = "listings", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::LISTING_TO_CLOSE)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body = CloseForm, responses((status = 200, body = ActionResult),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/listings/{id}/close")]
pub(super) async fn close_listing(
    caller: Caller,
    path: PathId,
    condition: Precondition,
    idempotency: Idempotency,
    body: Body<CloseForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let (id, status) = (path.id()?, Status::from(form.status));
    let message = format!("The listing is closed: {}.", status.as_str());
    let response = JsonResponse::json(&ActionResult::new(message))?;
    let run = idempotency.run_with_output(&service.db, fingerprint, async || {
        Ok(move |c: &mut _| {
            let (_, changed) = store::change_status(c, &caller, id, &condition, status)?;
            Ok((response.clone(), changed))
        })
    });
    let (response, changed) = run.await?;
    if changed == Some(true) {
        service.webhooks.wake();
        status_changed(status).increment(1);
    }
    Ok(response)
}
