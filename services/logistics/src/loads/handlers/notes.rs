//! `POST /v1/loads/{id}/notes`.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, PathId};

use crate::loads::form::NoteForm;
use crate::loads::store;
use crate::{Logistics, examples};

/// Write a note on a load
///
/// Adds a text to the history of a load in any status, for its parties and drivers. It changes nothing else, and raises
/// no revision. A load has at most 200 notes (409 `limit_reached`), and a user writes at most 60 in an hour.
#[utoipa::path(operation_id = "create_note", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD))),
    request_body = NoteForm, extensions(("x-roles" = json!(["weighbridge"]))),
    responses((status = 200, body = ActionResult),
        (status = 429, description = "The user wrote 60 notes in the last hour."), ErrorResponses))]
#[post("/loads/{id}/notes")]
pub(super) async fn create(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    body: Body<NoteForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let id = path.id()?;
    let effect = move |c: &mut _| {
        let note = store::add_note(c, &caller, id, &form.text)?;
        JsonResponse::json(&ActionResult::created("The note is stored.", note))
    };
    let response = idempotency.run(&app.db, fingerprint, async || Ok(effect)).await?;
    app.webhooks.wake();
    Ok(response)
}
