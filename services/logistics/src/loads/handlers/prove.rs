//! `POST /v1/loads/{id}/proof-of-delivery` and `POST /v1/loads/proof-of-delivery`.

use actix_web::post;
use actix_web::web::Data;
use common::files::{self, FoundFiles};
use common::validation::{Code, ValidationErrors};
use common::wire::Warning;
use common::{Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId};
use database::{Id, Timestamp};

use crate::Logistics;
use crate::loads::history::{EventType, NewEvent, changes};
use crate::loads::model::Load;
use crate::loads::proof::{
    Delivery, ProofOfDelivery, ProofOfDeliveryOfLoad, UNKNOWN_LOAD, validate_captured_at,
};
use crate::loads::store::{self, NewProof, Update};
use crate::loads::stored_load::StoredLoad;

/// Upload proof of delivery (load named in body)
#[utoipa::path(operation_id = "prove_delivery", tag = "loads", security(("bearer" = [])),
    request_body = ProofOfDeliveryOfLoad, extensions(("x-one-or-array" = json!(true))),
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
    let id = form.load_id().ok_or(Error::NotFound)?;
    match record(&app, &caller, idempotency, fingerprint, id, &form.delivery).await {
        Err(Error::NotFound) => {
            let mut errors = ValidationErrors::default();
            errors.push("loadId", Code::UnknownReference, UNKNOWN_LOAD);
            app.files.report_unknown(&caller, form.delivery.files(), &mut errors).await;
            Err(Error::Validation(errors))
        }
        other => other,
    }
}

/// Upload proof of delivery (load named in path)
#[utoipa::path(operation_id = "prove_delivery_of_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id")),
    request_body = ProofOfDelivery, extensions(("x-one-or-array" = json!(true))),
    responses((status = 200, body = Load), ErrorResponses))]
#[post("/loads/{id}/proof-of-delivery")]
pub(super) async fn prove(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    body: Body<ProofOfDelivery>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &ProofOfDelivery, errors: &mut ValidationErrors| form.validate(path.id().ok(), errors);
    let (form, fingerprint) =
        body.check_with_files(rules, &app.files, &caller, |form| form.delivery.files()).await?;
    record(&app, &caller, idempotency, fingerprint, path.id()?, &form.delivery).await
}

async fn record(
    app: &Logistics,
    caller: &Caller,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    id: Id,
    delivery: &Delivery,
) -> Result<JsonResponse, Error> {
    let proof = delivery.proof()?;
    let completed_at = delivery.captured_at().unwrap_or_else(Timestamp::now);
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let reader = caller.clone();
        let StoredLoad { load, proof: stored, corrected_proof: corrected, .. } =
            app.db.read(move |c| store::find_stored(c, &reader, id)).await?;
        let mut errors = ValidationErrors::default();
        let tolerance = app.weight_tolerance;
        if ![&stored, &corrected].contains(&&Some(proof.clone())) {
            validate_captured_at(delivery.captured_at(), &load, &mut errors);
            tolerance.check(proof.weight_net, load.weight.as_ref(), &mut errors);
        }
        if !errors.is_empty() {
            app.files.report_unknown(caller, delivery.files(), &mut errors).await;
        }
        errors.check()?;
        // Neither a repeat, which changes nothing, nor a conflict calls the system service.
        let found = if proof.is_repeat(&load, stored.as_ref(), corrected.as_ref())? {
            FoundFiles::default()
        } else {
            app.files.look_up(caller, delivery.files()).await?
        };
        let files = found.references()?;
        let caller = caller.clone();
        Ok(move |c: &mut _| {
            let stored = store::find_stored(c, &caller, id)?;
            let mut load = stored.load.clone();
            // Uses the parties in the transaction, because a carrier may have been assigned meanwhile.
            let share = found.share(&caller, id, &load.parties(), &load.parties());
            let warning = tolerance.warning(proof.weight_net, load.weight.as_ref());
            if proof.is_repeat(&load, stored.proof.as_ref(), stored.corrected_proof.as_ref())? {
                return Ok((respond(load, stored.revision, warning)?, share));
            }
            proof.complete(&mut load, &files, completed_at);
            let changes = changes(&stored.load, &load);
            let event = NewEvent { changes, ..NewEvent::new(id, EventType::Completed, &caller) };
            let (revision, new_proof) = (stored.revision + 1, Some(NewProof::Original(&proof)));
            store::update(c, &Update { load: &load, revision, event, proof: new_proof })?;
            let response = respond(load, revision, warning)?;
            files::record(c, share.as_ref())?;
            Ok((response, share))
        })
    });
    let (response, share) = run.await?;
    app.shares.share(share.flatten()).await;
    Ok(response)
}

/// Returns the load with its warning as the response.
pub(super) fn respond(
    mut load: Load,
    revision: i64,
    warning: Option<Warning>,
) -> Result<JsonResponse, Error> {
    load.warnings.extend(warning);
    Ok(JsonResponse::json(&load)?.revision(revision))
}
