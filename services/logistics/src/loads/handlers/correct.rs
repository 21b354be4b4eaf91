//! `POST /v1/loads/{id}/proof-of-delivery/corrections` and `POST /v1/loads/{id}/files`.

use actix_web::post;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::{
    Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, PathId, Precondition, Reason, system,
};
use database::{AnyConnection, Id};

use super::prove::respond;
use crate::Logistics;
use crate::examples;
use crate::loads::form::FilesForm;
use crate::loads::history::{EventType, NewEvent};
use crate::loads::members::changes;
use crate::loads::model::Load;
use crate::loads::proof::{Correction, Proof};
use crate::loads::status::Action;
use crate::loads::store::{self, NewProof, Update};
use crate::loads::stored_load::StoredLoad;

/// Correct a proof of delivery
///
/// Replaces values of the proof of a completed load. The old values stay in the history of the load.
#[utoipa::path(operation_id = "correct_proof_of_delivery", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!(["weighbridge"]))),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::COMPLETED_LOAD)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body = Correction,
    responses((status = 200, body = Load),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/loads/{id}/proof-of-delivery/corrections")]
pub(super) async fn correct(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    condition: Precondition,
    body: Body<Correction>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &Correction, errors: &mut ValidationErrors| form.validate(errors);
    // The files that the load has already are not looked up again.
    let found = find(&app, &caller, &path, store::find_stored).await;
    let present = found.as_ref().map_or_else(|_| Vec::new(), |stored| stored.load.files.clone());
    let (form, fingerprint) =
        body.check_with_added_files(rules, &app.files, &caller, Correction::files, &present).await?;
    let tolerance = app.weight_tolerance;
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let checked = found.and_then(|stored| {
            let previous = proof_to_correct(&stored, &caller)?;
            form.correct(previous, &stored.load, tolerance)?;
            condition.check(stored.load.revision)
        });
        match checked {
            Ok(()) => {}
            Err(Error::Validation(mut errors)) => {
                app.files.report_unknown(&caller, form.files(), &present, &mut errors).await;
                return Err(errors.into());
            }
            Err(error) => {
                return Err(app.files.report_unknown_before(&caller, form.files(), &present, error).await);
            }
        }
        let found = app.files.look_up_added(&caller, form.files(), &present).await?;
        let (id, files) = (path.id()?, found.references()?);
        Ok(move |c: &mut _| {
            // Checks again: another request may have corrected the proof.
            let stored = store::find_stored(c, &caller, id)?;
            let previous = proof_to_correct(&stored, &caller)?;
            let mut load = stored.load.clone();
            let proof = form.correct(previous, &load, tolerance)?;
            condition.check(stored.load.revision)?;
            let warnings = form.warnings(&proof, &load, tolerance);
            if proof == *previous {
                return Ok((respond(load, warnings)?, None));
            }
            proof.correct(previous, &mut load, &files, &stored.before_proof.files);
            load.revise();
            let changes = changes(&stored.load, &load);
            let reason = Some(form.reason.0.as_str());
            let event = NewEvent { reason, changes, ..NewEvent::new(id, EventType::Corrected, &caller) };
            store::update(c, &Update { load: &load, event, proof: Some(NewProof::Corrected(&proof)) })?;
            let added = found.added(&stored.load.files);
            let share = added.share(&caller, id, &load.parties(), &load.parties());
            system::record_share(c, share.as_ref())?;
            Ok((respond(load, warnings)?, share))
        })
    });
    let (response, share) = run.await?;
    app.webhooks.wake();
    app.shares.share(share.flatten()).await;
    Ok(response)
}

/// The most files of a load to which some are added.
const MAX_FILES: usize = 100;

/// Add files to a load
///
/// Adds files, such as photographs that arrive after the proof of delivery, to a load that is not cancelled. Adding
/// files that the load has changes nothing. The organiser, the carrier and the drivers of the load can do this. A load
/// has at most 100 files then (409 `limit_reached`).
#[utoipa::path(operation_id = "add_files_to_load", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body = FilesForm,
    responses((status = 200, body = Load, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/loads/{id}/files")]
pub(super) async fn add_files(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    condition: Precondition,
    body: Body<FilesForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    // The files that the load has already are not looked up again.
    let found = find(&app, &caller, &path, store::find_to_prove).await;
    let present = found.as_ref().map_or_else(|_| Vec::new(), |stored| stored.load.files.clone());
    let (form, fingerprint) =
        body.check_with_added_files(|_, _| {}, &app.files, &caller, |form| &form.files, &present).await?;
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let checked = found.and_then(|stored| {
            Action::AddFiles.check(stored.load.status)?;
            condition.check(stored.load.revision)
        });
        if let Err(error) = checked {
            return Err(app.files.report_unknown_before(&caller, &form.files, &present, error).await);
        }
        let found = app.files.look_up_added(&caller, &form.files, &present).await?;
        let (id, files) = (path.id()?, found.references()?);
        Ok(move |c: &mut _| {
            // Checks again: another request may have changed the load.
            let before = store::find_to_prove(c, &caller, id)?.load;
            Action::AddFiles.check(before.status)?;
            condition.check(before.revision)?;
            let mut load = before.clone();
            load.add_files(&files);
            if load.files.len() == before.files.len() {
                return Ok((respond(load, Vec::new())?, None));
            }
            if load.files.len() > MAX_FILES {
                let message = "A load with more than 100 files gets no others.";
                return Err(Error::conflict(Reason::LimitReached, message));
            }
            load.revise();
            let changes = changes(&before, &load);
            let event = NewEvent { changes, ..NewEvent::new(id, EventType::Updated, &caller) };
            store::update(c, &Update { load: &load, event, proof: None })?;
            let share = found.added(&before.files).share(&caller, id, &load.parties(), &load.parties());
            system::record_share(c, share.as_ref())?;
            Ok((respond(load, Vec::new())?, share))
        })
    });
    let (response, share) = run.await?;
    app.webhooks.wake();
    app.shares.share(share.flatten()).await;
    Ok(response)
}

/// Returns the present load, read by `find`.
async fn find(
    app: &Logistics,
    caller: &Caller,
    path: &PathId,
    find: fn(&mut AnyConnection, &Caller, Id) -> Result<StoredLoad, Error>,
) -> Result<StoredLoad, Error> {
    let (id, reader) = (path.id()?, caller.clone());
    app.db.read(move |c| find(c, &reader, id)).await
}

/// Returns the present proof of a completed load.
///
/// # Errors
/// 403 if the caller is neither the organiser nor the carrier, 409 if the load is not completed.
fn proof_to_correct<'a>(stored: &'a StoredLoad, caller: &Caller) -> Result<&'a Proof, Error> {
    if !stored.is_of_party(caller) {
        return Err(Error::Forbidden("Only the organiser and the carrier of a load can correct its proof."));
    }
    stored.proof_to_correct()
}
