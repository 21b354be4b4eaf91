//! `POST /v1/loads/{id}/proof-of-delivery` and `POST /v1/loads/proof-of-delivery`.

use actix_web::post;
use actix_web::web::Data;
use common::system::{self, FoundFiles};
use common::validation::{Code, ValidationErrors};
use common::wire::{FileReference, Warning};
use common::{
    Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId, Precondition,
};
use database::{Id, Timestamp};

use crate::Logistics;
use crate::examples;
use crate::loads::history::{EventType, NewEvent};
use crate::loads::members::changes;
use crate::loads::model::Load;
use crate::loads::proof::{self, Delivery, ProofOfDelivery, ProofOfDeliveryOfLoad, UNKNOWN_LOAD};
use crate::loads::store::{self, NewProof, Update};

/// Upload proof of delivery (load named in body)
#[utoipa::path(operation_id = "prove_delivery", tag = "loads", security(("bearer" = [])),
    request_body = ProofOfDeliveryOfLoad,
    extensions(("x-roles" = json!(["weighbridge"])), ("x-one-or-array" = json!(true))),
    responses((status = 200, body = Load), ErrorResponses))]
#[post("/loads/proof-of-delivery")]
pub(super) async fn prove_in_body(
    caller: Caller,
    idempotency: Idempotency,
    body: Body<ProofOfDeliveryOfLoad>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &ProofOfDeliveryOfLoad, errors: &mut ValidationErrors| form.validate(errors);
    let (form, fingerprint) =
        body.check_with_files(rules, &app.files, &caller, |form| form.delivery.files()).await?;
    let named = Named::InBody(form.load_id());
    record(&app, &caller, idempotency, fingerprint, named, &form.delivery).await
}

/// Upload proof of delivery (load named in path)
#[utoipa::path(operation_id = "prove_delivery_of_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD_TO_PROVE)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body = ProofOfDelivery,
    extensions(("x-roles" = json!(["weighbridge"])), ("x-one-or-array" = json!(true))),
    responses((status = 200, body = Load),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/loads/{id}/proof-of-delivery")]
pub(super) async fn prove(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    condition: Precondition,
    body: Body<ProofOfDelivery>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &ProofOfDelivery, errors: &mut ValidationErrors| form.validate(path.id().ok(), errors);
    let (form, fingerprint) =
        body.check_with_files(rules, &app.files, &caller, |form| form.delivery.files()).await?;
    let named = Named::InPath(path.id().ok(), condition);
    record(&app, &caller, idempotency, fingerprint, named, &form.delivery).await
}

/// The error of a repeated request whose load another request has changed since the files of a repeat were not looked
/// up.
pub(super) const CHANGED_MEANWHILE: Error =
    Error::Busy("The load was changed at the same time, and nothing was stored: send the request again.");

/// The id of the load, if it is one, and where the request names it.
enum Named {
    InPath(Option<Id>, Precondition),
    InBody(Option<Id>),
}

async fn record(
    app: &Logistics,
    caller: &Caller,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    named: Named,
    delivery: &Delivery,
) -> Result<JsonResponse, Error> {
    let (id, is_in_body, condition) = match named {
        Named::InPath(id, condition) => (id, false, condition),
        Named::InBody(id) => (id, true, Precondition::default()),
    };
    let (proof, captured_at, tolerance) = (delivery.proof()?, delivery.captured_at(), app.weight_tolerance);
    let completed_at = captured_at.unwrap_or_else(Timestamp::now);
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let reader = caller.clone();
        let stored = match id {
            Some(id) => app.db.read(move |c| store::find_to_prove(c, &reader, id)).await,
            None => Err(Error::NotFound),
        };
        let is_proven = stored.as_ref().is_ok_and(|stored| stored.is_proven_by(&proof));
        let found = match stored {
            // Neither a repeat, which changes nothing, nor another proof of a proven load calls the system service.
            Ok(_) if is_proven => FoundFiles::default(),
            Ok(stored) => {
                match proof::check(&proof, captured_at, &stored.load, stored.proof.is_some(), tolerance) {
                    Ok(()) => app.files.look_up(caller, delivery.files()).await?,
                    Err(error @ Error::Conflict(..)) if stored.proof.is_some() => return Err(error),
                    Err(error) => return Err(refuse(app, caller, delivery.files(), error).await),
                }
            }
            Err(Error::NotFound) if is_in_body => {
                let unknown = ValidationErrors::one("loadId", Code::UnknownReference, UNKNOWN_LOAD);
                return Err(refuse(app, caller, delivery.files(), unknown.into()).await);
            }
            Err(error) => return Err(refuse(app, caller, delivery.files(), error).await),
        };
        let (id, files) = (id.ok_or(Error::NotFound)?, found.references()?);
        let caller = caller.clone();
        Ok(move |c: &mut _| {
            // Checks again: another request may have changed the load.
            let stored = store::find_to_prove(c, &caller, id)?;
            let (before, mut load) = (&stored.load, stored.load.clone());
            // Uses the parties in the transaction, because a carrier may have been assigned meanwhile.
            let share = found.share(&caller, id, &load.parties(), &load.parties());
            if stored.is_proven_by(&proof) {
                condition.check(before.revision)?;
                // A correction may have replaced the values of this proof.
                let present = stored.corrected_proof.as_ref().unwrap_or(&proof);
                let warnings = present.warnings(before, tolerance);
                return Ok((respond(load, warnings)?, share));
            }
            if is_proven {
                return Err(CHANGED_MEANWHILE);
            }
            proof::check(&proof, captured_at, before, stored.proof.is_some(), tolerance)?;
            condition.check(before.revision)?;
            proof.complete(&mut load, &files, completed_at);
            load.revise();
            let event = NewEvent {
                changes: changes(before, &load),
                ..NewEvent::new(id, EventType::Completed, &caller)
            };
            let new_proof = Some(NewProof::Original { proof: &proof, before });
            store::update(c, &Update { load: &load, event, proof: new_proof })?;
            let response = respond(load, proof.warnings(before, tolerance))?;
            system::record_share(c, share.as_ref())?;
            Ok((response, share))
        })
    });
    let (response, share) = run.await?;
    app.webhooks.wake();
    app.shares.share(share.flatten()).await;
    Ok(response)
}

/// Returns the error of a request that is refused, with its unknown files.
pub(super) async fn refuse(app: &Logistics, caller: &Caller, files: &[FileReference], error: Error) -> Error {
    if let Error::Validation(mut errors) = error {
        app.files.report_unknown(caller, files, &[], &mut errors).await;
        return errors.into();
    }
    app.files.report_unknown_before(caller, files, &[], error).await
}

/// Returns the load with its warnings as the response.
pub(super) fn respond(mut load: Load, warnings: Vec<Warning>) -> Result<JsonResponse, Error> {
    load.warnings = warnings;
    Ok(JsonResponse::json(&load)?.revision(load.revision).names_uploaders(load.id, load.all_files()))
}
