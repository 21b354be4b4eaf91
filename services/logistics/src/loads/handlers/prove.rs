//! `POST /v1/loads/{id}/proof-of-delivery` and `POST /v1/loads/proof-of-delivery`.

use actix_web::post;
use actix_web::web::Data;
use common::files::{self, FoundFiles};
use common::validation::{Code, ValidationErrors};
use common::{Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId};
use database::{Id, Timestamp};

use crate::Logistics;
use crate::loads::model::Load;
use crate::loads::proof::{
    Delivery, ProofOfDelivery, ProofOfDeliveryOfLoad, UNKNOWN_LOAD, validate_captured_at,
};
use crate::loads::store;

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
        let (load, stored) = app.db.read(move |c| store::find_with_proof(c, &reader, id)).await?;
        let mut errors = ValidationErrors::default();
        if stored.as_ref() != Some(&proof) {
            validate_captured_at(delivery.captured_at(), &load, &mut errors);
        }
        if !errors.is_empty() {
            app.files.report_unknown(caller, delivery.files(), &mut errors).await;
        }
        errors.check()?;
        // Neither a repeat, which changes nothing, nor a conflict calls the system service.
        let found = if proof.is_repeat(&load, stored.as_ref())? {
            FoundFiles::default()
        } else {
            app.files.look_up(caller, delivery.files()).await?
        };
        let files = found.references()?;
        let caller = caller.clone();
        Ok(move |c: &mut _| {
            let (mut load, stored) = store::find_with_proof(c, &caller, id)?;
            // Uses the parties in the transaction, because a carrier may have been assigned meanwhile.
            let share = found.share(&caller, id, &load.parties(), &load.parties());
            let response = if proof.is_repeat(&load, stored.as_ref())? {
                JsonResponse::json(&load)?
            } else {
                proof.complete(&mut load, &files, completed_at);
                store::complete(c, &load, &proof)?
            };
            files::record(c, share.as_ref())?;
            Ok((response, share))
        })
    });
    let (response, share) = run.await?;
    app.shares.share(share.flatten()).await;
    Ok(response)
}
