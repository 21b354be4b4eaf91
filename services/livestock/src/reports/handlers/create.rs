//! `POST /v1/listings/{id}/report`.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, PathId};

use crate::Livestock;
use crate::examples;
use crate::reports::form::ReportForm;
use crate::reports::{metrics, store};

/// Report a listing
///
/// A user can report a listing once. Listings of the caller's own organisation cannot be reported.
#[utoipa::path(operation_id = "report_listing", tag = "reports", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::FOREIGN_LISTING))),
    request_body = ReportForm, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/listings/{id}/report")]
pub(super) async fn report_listing(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    body: Body<ReportForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let (id, reason) = (path.id()?, form.reason);
    let response = JsonResponse::json(&ActionResult::new("The report is stored; thank you."))?;
    let run = idempotency.run_with_output(&service.db, fingerprint, async || {
        Ok(move |c: &mut _| store::create(c, &caller, id, &form).map(|()| (response.clone(), ())))
    });
    let (response, stored) = run.await?;
    if stored.is_some() {
        metrics::reports(reason).increment(1);
        // The report is stored even if this query fails.
        let count = service.db.read(move |c| store::count(c, id)).await.ok();
        tracing::info!(listing = %id, reason = reason.as_str(), reports = count, "a listing was reported");
    }
    Ok(response)
}
