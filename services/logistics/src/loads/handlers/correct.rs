//! `POST /v1/loads/{id}/proof-of-delivery/corrections`.

use actix_web::post;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::{Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, PathId, files};

use super::prove::respond;
use crate::Logistics;
use crate::loads::history::{EventType, NewEvent, changes};
use crate::loads::model::{Load, Status};
use crate::loads::proof::{Correction, Proof};
use crate::loads::store::{self, NewProof, Update};
use crate::loads::stored_load::StoredLoad;

/// Correct a proof of delivery
///
/// Replaces values of the proof of a completed load. The old values stay in the history of the load.
#[utoipa::path(operation_id = "correct_proof_of_delivery", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id")),
    request_body = Correction,
    responses((status = 200, body = Load), ErrorResponses))]
#[post("/loads/{id}/proof-of-delivery/corrections")]
pub(super) async fn correct(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    body: Body<Correction>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &Correction, errors: &mut ValidationErrors| form.validate(errors);
    let (form, fingerprint) = body.check_with_files(rules, &app.files, &caller, Correction::files).await?;
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        if let Err(error) = check(&app, &caller, &path, &form).await {
            return Err(app.files.report_unknown_before(&caller, form.files(), error).await);
        }
        let found = app.files.look_up(&caller, form.files()).await?;
        let (id, files, tolerance) = (path.id()?, found.references()?, app.weight_tolerance);
        Ok(move |c: &mut _| {
            let stored = store::find_stored(c, &caller, id)?;
            let previous = proof_to_correct(&stored, &caller)?;
            let (mut load, proof) = (stored.load.clone(), form.apply(previous)?);
            let net = form.names_net_weight().then_some(proof.weight_net);
            let warning = net.and_then(|net| tolerance.warning(net, load.weight.as_ref()));
            if proof == *previous {
                return Ok((respond(load, stored.revision, warning)?, None));
            }
            proof.correct(previous, &mut load, &files);
            let changes = changes(&stored.load, &load);
            let reason = Some(form.reason.0.as_str());
            let event = NewEvent { reason, changes, ..NewEvent::new(id, EventType::Corrected, &caller) };
            let (revision, new_proof) = (stored.revision + 1, Some(NewProof::Corrected(&proof)));
            store::update(c, &Update { load: &load, revision, event, proof: new_proof })?;
            let share = found.share(&caller, id, &load.parties(), &load.parties());
            files::record(c, share.as_ref())?;
            Ok((respond(load, revision, warning)?, share))
        })
    });
    let (response, share) = run.await?;
    app.shares.share(share.flatten()).await;
    Ok(response)
}

/// Checks the correction against the present load.
async fn check(app: &Logistics, caller: &Caller, path: &PathId, form: &Correction) -> Result<(), Error> {
    let (id, reader) = (path.id()?, caller.clone());
    let stored = app.db.read(move |c| store::find_stored(c, &reader, id)).await?;
    let previous = proof_to_correct(&stored, caller)?;
    let proof = form.apply(previous)?;
    let mut errors = ValidationErrors::default();
    proof.validate_weights(&mut errors);
    if proof.weight_net != previous.weight_net {
        app.weight_tolerance.check(proof.weight_net, stored.load.weight.as_ref(), &mut errors);
    }
    if !errors.is_empty() {
        app.files.report_unknown(caller, form.files(), &mut errors).await;
    }
    Ok(errors.check()?)
}

/// Returns the present proof of a completed load.
///
/// # Errors
/// 403 if the caller is neither the organiser nor the carrier, 409 if the load is not completed.
fn proof_to_correct<'a>(stored: &'a StoredLoad, caller: &Caller) -> Result<&'a Proof, Error> {
    if !stored.is_of_party(caller) {
        return Err(Error::Forbidden("Only the organiser and the carrier of a load can correct its proof."));
    }
    let proof = stored.corrected_proof.as_ref().or(stored.proof.as_ref());
    let completed = proof.filter(|_| stored.load.status == Status::Completed);
    completed.ok_or_else(|| Error::conflict("Only the proof of a completed load can be corrected."))
}
