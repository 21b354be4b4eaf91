//! Proof of delivery: the weighbridge ticket that completes a load.

use actix_web::post;
use actix_web::web::Data;
use chrono::TimeDelta;
use common::files::{self, FoundFiles};
use common::validation::{Code, ValidationErrors};
use common::wire::{DateOrDateTime, FileReference, QueryText, Reference, Registration, WeightMeasure};
use common::{Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId};
use database::{Amount, Id, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::form::reword_tonnes;
use super::model::{Load, Status};
use super::store;
use crate::Logistics;

const NO_LOAD: &str = "names no load";

/// How long before a load's creation or delivery date its proof may have been captured.
const MAX_CAPTURE_AGE: TimeDelta = TimeDelta::days(366);

/// What is proven (interface.md, 4.2).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(as = Delivery)]
pub(super) struct Delivery {
    /// Tonnes.
    #[schema(required = true, minimum = 0, maximum = 1000)]
    weight_net: f64,
    #[schema(required = true)]
    ticket_number: Reference,
    #[schema(required = true)]
    vehicle_registration: Registration,
    #[schema(required = true, max_items = 50)]
    files: Option<Vec<FileReference>>,
    /// When it was signed, for a driver who was offline; by default now. At most 366 days before the load's creation or
    /// its delivery date, whichever is earlier.
    #[serde(rename = "capturedAtUTC")]
    captured_at: Option<DateOrDateTime>,
}

/// What is proven of the load that the path names.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = ProofOfDelivery)]
pub(super) struct PathForm {
    /// May be left out; else the same load.
    #[serde(default, rename = "loadId")]
    load_id: Option<QueryText>,
    #[serde(flatten)]
    delivery: Delivery,
}

/// What is proven of the load that the body names.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = ProofOfDeliveryOfLoad)]
pub(super) struct BodyForm {
    /// The load.
    #[serde(default, rename = "loadId")]
    #[schema(required = true, min_length = 1, extensions(("x-text" = json!("line"))))]
    load_id: String,
    #[serde(flatten)]
    delivery: Delivery,
}

/// The values by which a repeated proof is told from another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Proof {
    weight_net: Amount,
    ticket_number: String,
    vehicle_registration: String,
    files: Vec<String>,
}

impl Delivery {
    /// What the schema cannot state.
    fn rules(&self, errors: &mut ValidationErrors) {
        reword_tonnes("weightNet", errors);
        let latest = Timestamp::now().plus(TimeDelta::minutes(5));
        if self.captured_at.as_ref().and_then(DateOrDateTime::start).is_some_and(|at| at > latest) {
            errors.push("capturedAtUTC", Code::Range, "must not be in the future");
        }
    }

    fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    /// Offices enter loads afterwards, so it may lie before the load's creation, within a year.
    fn check_captured_at(&self, load: &Load, errors: &mut ValidationErrors) {
        let earliest = load.created_at.min(load.delivery_date).plus(-MAX_CAPTURE_AGE);
        if self.captured_at.as_ref().and_then(DateOrDateTime::start).is_some_and(|at| at < earliest) {
            let message =
                "must not be more than 366 days before both the load's creation and its delivery date";
            let data = serde_json::json!({ "minimum": earliest.to_string() });
            errors.push_with("capturedAtUTC", Code::Range, message, data);
        }
    }

    fn proof(&self) -> Result<Proof, Error> {
        let mut files: Vec<_> =
            self.files.iter().flatten().map(|file| file.id.to_ascii_lowercase()).collect();
        files.sort();
        files.dedup();
        Ok(Proof {
            weight_net: Amount::from_f64(self.weight_net).map_err(|e| Error::Internal(e.into()))?,
            ticket_number: self.ticket_number.0.clone(),
            vehicle_registration: self.vehicle_registration.0.clone(),
            files,
        })
    }
}

/// Upload proof of delivery (load named in body)
#[utoipa::path(operation_id = "prove_delivery", tag = "loads", security(("bearer" = [])),
    request_body = BodyForm, extensions(("x-one-or-array" = json!(true))), responses((status = 200, body = Load), ErrorResponses))]
#[post("/loads/proof-of-delivery")]
pub(super) async fn prove_in_body(
    caller: Caller,
    idempotency: Idempotency,
    body: Body<BodyForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &BodyForm, errors: &mut ValidationErrors| {
        form.delivery.rules(errors);
        if Id::parse(&form.load_id).is_none() {
            errors.push("loadId", Code::UnknownReference, NO_LOAD);
        }
    };
    let (form, fingerprint) =
        body.check_with_files(rules, &app.files, &caller, |form| form.delivery.files()).await?;
    let id = Id::parse(&form.load_id).ok_or(Error::NotFound)?;
    match record(&app, &caller, idempotency, fingerprint, id, &form.delivery).await {
        Err(Error::NotFound) => {
            let mut errors = ValidationErrors::default();
            errors.push("loadId", Code::UnknownReference, NO_LOAD);
            app.files.report_unknown(&caller, form.delivery.files(), &mut errors).await;
            Err(Error::Validation(errors))
        }
        other => other,
    }
}

/// Upload proof of delivery (load named in path)
#[utoipa::path(operation_id = "prove_delivery_of_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id")),
    request_body = PathForm, extensions(("x-one-or-array" = json!(true))), responses((status = 200, body = Load), ErrorResponses))]
#[post("/loads/{id}/proof-of-delivery")]
pub(super) async fn prove(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    body: Body<PathForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &PathForm, errors: &mut ValidationErrors| {
        form.delivery.rules(errors);
        if form.load_id.as_deref().is_some_and(|named| Id::parse(named) != path.id().ok()) {
            let message = "must name the load that the path names, or be left out";
            errors.push("loadId", Code::Inconsistent, message);
        }
    };
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
    let captured_at =
        delivery.captured_at.as_ref().and_then(DateOrDateTime::start).unwrap_or_else(Timestamp::now);
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let reader = caller.clone();
        let (load, proven) = app.db.read(move |c| store::find_with_proof(c, &reader, id)).await?;
        let mut errors = ValidationErrors::default();
        if proven.as_ref() != Some(&proof) {
            delivery.check_captured_at(&load, &mut errors);
        }
        if !errors.is_empty() {
            app.files.report_unknown(caller, delivery.files(), &mut errors).await;
        }
        errors.check()?;
        // System is called neither for a repeat, which changes nothing, nor for a contradiction.
        let repeated = repeats(&load, proven.as_ref(), &proof)?;
        let found = if repeated {
            FoundFiles::default()
        } else {
            app.files.look_up(caller, delivery.files()).await?
        };
        let files = found.references()?;
        let caller = caller.clone();
        Ok(move |c: &mut _| {
            let (mut load, proven) = store::find_with_proof(c, &caller, id)?;
            // The parties of this moment: a carrier may have been assigned since.
            let share = found.share(&caller, id, &load.parties(), &load.parties());
            let answer = if repeats(&load, proven.as_ref(), &proof)? {
                JsonResponse::json(&load)?
            } else {
                complete(&mut load, &proof, &files, captured_at);
                store::complete(c, &load, &proof)?
            };
            files::record(c, share.as_ref())?;
            Ok((answer, share))
        })
    });
    let (answer, share) = run.await?;
    app.shares.share(share.flatten()).await;
    Ok(answer)
}

/// True when the load was proven with these very values; 409 when with others.
fn repeats(load: &Load, proven: Option<&Proof>, proof: &Proof) -> Result<bool, Error> {
    match proven {
        Some(proven) if proven == proof => Ok(true),
        Some(_) => Err(Error::conflict("This load was proven delivered with other values.")),
        None if load.status == Status::Completed => Err(Error::conflict("This load is completed.")),
        None => Ok(false),
    }
}

fn complete(load: &mut Load, proof: &Proof, files: &[FileReference], at: Timestamp) {
    load.status = Status::Completed;
    load.completed_at = Some(at);
    load.weight_net = Some(WeightMeasure::tonnes(proof.weight_net));
    load.ticket_number = Some(proof.ticket_number.clone());
    load.vehicle_registration = Some(proof.vehicle_registration.clone());
    for file in files {
        if load.files.iter().all(|known| known.id != file.id) {
            load.files.push(file.clone());
        }
    }
}
