//! `POST /v1/listings/{id}/close`.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, PathId, Precondition};

use crate::Livestock;
use crate::examples;
use crate::listings::form::CloseForm;
use crate::listings::model::Status;
use crate::listings::{metrics, store};

/// Close a listing
///
/// A draft can be cancelled; it stays visible to its organisation only. Closing a listing again with the same status
/// changes nothing.
#[utoipa::path(operation_id = "close_listing", tag = "listings", security(("bearer" = [])),
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
        metrics::changed(status).increment(1);
    }
    Ok(response)
}
