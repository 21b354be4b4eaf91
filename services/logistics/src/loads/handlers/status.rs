//! The operations that accept, cancel and reopen loads, and write notes on them.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{
    Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId, Precondition,
};
use serde_json::json;

use super::prove::respond;
use crate::loads::cancel::cancel as cancel_load;
use crate::loads::form::{CancelForm, NoteForm, ReopenForm};
use crate::loads::history::{Change, EventType, NewEvent, completion_changes};
use crate::loads::members::changes;
use crate::loads::model::Load;
use crate::loads::proof::ProvenValues;
use crate::loads::store::{self, NewProof, Update};
use crate::{Logistics, examples};

/// Accept a load
///
/// A load that a carrier entered for an organiser is not part of that organiser's completed export until the organiser
/// accepts it. Accepting again, or accepting a load that needs no acceptance, succeeds and changes nothing.
#[utoipa::path(operation_id = "accept_load", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD_TO_ACCEPT)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    responses((status = 200, body = ActionResult),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/loads/{id}/accept")]
pub(super) async fn accept(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    condition: Precondition,
    fingerprint: Fingerprint,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let effect = move |c: &mut _| {
        store::accept(c, &caller, id, &condition)?;
        JsonResponse::json(&ActionResult::new("The load is accepted."))
    };
    let response = idempotency.run(&app.db, fingerprint, async || Ok(effect)).await?;
    app.webhooks.wake();
    Ok(response)
}

/// Cancel a load
///
/// Cancels an upcoming load, and notifies its drivers. Searches without `f:status` leave it out from then on.
/// Cancelling again succeeds and changes nothing.
#[utoipa::path(operation_id = "cancel_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD_TO_CANCEL)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body = CancelForm, extensions(("x-roles" = json!([])), ("x-optional-body" = json!(true))),
    responses((status = 200, body = Load, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/loads/{id}/cancel")]
pub(super) async fn cancel(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    condition: Precondition,
    body: Body<CancelForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let (id, reason) = (path.id()?, form.reason.map(|reason| reason.0));
    let effect = move |c: &mut _| {
        let (load, _) = cancel_load(c, &caller, id, reason.as_deref(), &condition)?;
        respond(load, Vec::new())
    };
    let response = idempotency.run(&app.db, fingerprint, async || Ok(effect)).await?;
    app.notifications.wake();
    app.webhooks.wake();
    Ok(response)
}

/// Reopen a load
///
/// Undoes the last of cancelling, rejecting and completing the load, which is then as it was before. What is undone
/// stays in the history. Reopening an upcoming or collected load succeeds and changes nothing. The carrier can reopen
/// a load that it cancelled, or that it created for an organiser without an id.
#[utoipa::path(operation_id = "reopen_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD_TO_REOPEN)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body = ReopenForm, extensions(("x-roles" = json!([]))),
    responses((status = 200, body = Load, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/loads/{id}/reopen")]
pub(super) async fn reopen(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    condition: Precondition,
    body: Body<ReopenForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let id = path.id()?;
    let effect = move |c: &mut _| {
        let mut stored = store::find_stored(c, &caller, id)?;
        if !stored.is_reopened_by(&caller) {
            return Err(Error::Forbidden(
                "Only the organiser of a load, and the organisation that created it and may end it, can reopen it.",
            ));
        }
        condition.check(stored.load.revision)?;
        let before = stored.load.clone();
        if let (Some(proof), None) = (&stored.proof, &stored.before_proof.values)
            && let Some(changes) = completion_changes(c, id)?
        {
            stored.before_proof.values = Some(ProvenValues::before(proof, &changes)?);
        }
        if !stored.reopen() {
            return respond(stored.load, Vec::new());
        }
        stored.load.revise();
        let mut changes = changes(&before, &stored.load);
        if let Some(at) = before.completed_at {
            changes.insert("completedAtUTC", Change::new(Some(json!(at)), None));
        }
        let reason = Some(form.reason.0.as_str());
        let event = NewEvent { reason, changes, ..NewEvent::new(id, EventType::Reopened, &caller) };
        let proof = before.completed_at.map(|_| NewProof::Undone);
        store::update(c, &Update { load: &stored.load, event, proof })
    };
    let response = idempotency.run(&app.db, fingerprint, async || Ok(effect)).await?;
    app.webhooks.wake();
    Ok(response)
}

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
pub(super) async fn add_note(
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
