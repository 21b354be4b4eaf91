//! `POST /v1/reports/{id}/resolve`.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Admin, Authorized, Body, Error, ErrorResponses, Idempotency, JsonResponse, PathId};

use crate::Livestock;
use crate::examples;
use crate::listings::{self, Status};
use crate::reports::form::ResolveForm;
use crate::reports::store;

/// Resolve a report
///
/// With `listing_removed` the listing is closed as cancelled, and every open report of it is resolved. A listing that
/// is closed already stays as it is. Resolving a report again with the same outcome changes nothing.
#[utoipa::path(operation_id = "resolve_report", tag = "reports", security(("bearer" = [])),
    params(("id" = String, Path, description = "The report's id", example = json!(examples::REPORT))),
    request_body = ResolveForm, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/reports/{id}/resolve")]
pub(super) async fn resolve_report(
    admin: Authorized<Admin>,
    path: PathId,
    idempotency: Idempotency,
    body: Body<ResolveForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let (id, outcome) = (path.id()?, form.outcome.as_str());
    let response = JsonResponse::json(&ActionResult::new(format!("The report is resolved: {outcome}.")))?;
    let admin = admin.clone();
    let run = idempotency.run_with_output(&service.db, fingerprint, async || {
        Ok(move |c: &mut _| Ok((response.clone(), store::resolve(c, &admin, id, &form)?)))
    });
    let (response, removed) = run.await?;
    if removed.is_some() {
        tracing::info!(report = %id, outcome, "a report was resolved");
    }
    if let Some(listing) = removed.flatten() {
        service.webhooks.wake();
        listings::status_changed(Status::Cancelled).increment(1);
        tracing::info!(%listing, "a listing was closed because of reports");
    }
    Ok(response)
}
