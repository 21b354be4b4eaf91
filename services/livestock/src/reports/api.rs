//! Reporting a listing, and reading what was reported.

use actix_web::web::Data;
use actix_web::{get, post};
use common::wire::ActionResult;
use common::{Admin, Answer, Body, Caller, Error, Failures, Granted, Once, PathId};

use super::{Form, Report, store};
use crate::measured::reports;
use crate::{Livestock, listings};

/// Report a listing
///
/// Once by each user; not one's own organisation's.
#[utoipa::path(operation_id = "report_listing", tag = "reports", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    request_body = Form, responses((status = 200, body = ActionResult), Failures))]
#[post("/listings/{id}/report")]
pub(super) async fn report(
    caller: Caller,
    path: PathId,
    once: Once,
    body: Body<Form>,
    app: Data<Livestock>,
) -> Result<Answer, Error> {
    let (form, print) = body.check(|_, _| {})?;
    let (id, reason) = (path.id()?, form.reason);
    let answer = Answer::json(&ActionResult::new("The report is stored; thank you."))?;
    let run = once.run_telling(&app.db, print, async || {
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
    responses((status = 200, body = [Report]), Failures))]
#[get("/listings/{id}/reports")]
pub(super) async fn list(admin: Granted<Admin>, path: PathId, app: Data<Livestock>) -> Result<Answer, Error> {
    let (id, admin) = (path.id()?, admin.clone());
    let listed = app.db.read(move |c| {
        listings::find(c, &admin, id)?;
        store::list(c, id)
    });
    Answer::json(&listed.await?)
}
