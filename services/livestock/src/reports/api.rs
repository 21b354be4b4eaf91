//! Reporting a listing, and reading what was reported.

use actix_web::web::Data;
use actix_web::{get, post};
use common::wire::ActionResult;
use common::{Admin, Authorized, Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, PathId};

use super::{Form, Report, store};
use crate::metrics::reports;
use crate::{Livestock, listings};

/// Report a listing
///
/// Once by each user; not one's own organisation's.
#[utoipa::path(operation_id = "report_listing", tag = "reports", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    request_body = Form, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/listings/{id}/report")]
pub(super) async fn report(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    body: Body<Form>,
    app: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let (id, reason) = (path.id()?, form.reason);
    let answer = JsonResponse::json(&ActionResult::new("The report is stored; thank you."))?;
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        Ok(move |c: &mut _| store::create(c, &caller, id, &form).map(|()| (answer.clone(), ())))
    });
    let (answer, stored) = run.await?;
    if stored.is_some() {
        reports(reason).increment(1);
        // The report is stored whether they can be counted or not.
        let count = app.db.read(move |c| store::count(c, id)).await.ok();
        let reason = reason.as_str();
        tracing::info!(listing = %id, reason, reports = count, "a listing was reported");
    }
    Ok(answer)
}

/// Reports of a listing
///
/// Newest first, the newest 1,000.
#[utoipa::path(operation_id = "list_reports_of_listing", tag = "reports", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    responses((status = 200, body = [Report]), ErrorResponses))]
#[get("/listings/{id}/reports")]
pub(super) async fn list(
    admin: Authorized<Admin>,
    path: PathId,
    app: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (id, admin) = (path.id()?, admin.clone());
    let listed = app.db.read(move |c| {
        listings::find(c, &admin, id)?;
        store::list(c, id)
    });
    JsonResponse::json(&listed.await?)
}
