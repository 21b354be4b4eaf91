//! The operations on reports.

use actix_web::web::Data;
use actix_web::{HttpRequest, get, post};
use common::validation::ValidationErrors;
use common::wire::{ActionResult, QueryText};
use common::{
    Admin, Authorized, Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, ListParams,
    PageRequest, PathId, Query, text_choice,
};
use serde::Deserialize;
use strum::VariantNames;
use utoipa::IntoParams;
use utoipa::openapi::schema::Object;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::listings::{self, Status};
use crate::reports::model::{Report, ReportForm, ReportReason, ReportStatus, ResolveForm, order};
use crate::reports::reports_with;
use crate::reports::store::{self, ReportSearch};
use crate::{Livestock, examples};

/// Registers the operations.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(report_listing).service(list_reports_of_listing).service(list_reports).service(resolve_report);
}

/// Report a listing
///
/// A user can report a listing once. Listings of the caller's own organisation cannot be reported.
#[utoipa::path(operation_id = "report_listing", tag = "reports", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::FOREIGN_LISTING))),
    request_body = ReportForm, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/listings/{id}/report")]
async fn report_listing(
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
        reports_with(reason).increment(1);
        // The report is stored even if this query fails.
        let count = service.db.read(move |c| store::count(c, id)).await.ok();
        tracing::info!(listing = %id, reason = reason.as_str(), reports = count, "a listing was reported");
    }
    Ok(response)
}

/// Reports of a listing
///
/// The newest 1,000 reports, newest first.
#[utoipa::path(operation_id = "list_reports_of_listing", tag = "reports", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::FOREIGN_LISTING))),
    responses((status = 200, body = [Report]), ErrorResponses))]
#[get("/listings/{id}/reports")]
async fn list_reports_of_listing(
    admin: Authorized<Admin>,
    path: PathId,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (id, admin) = (path.id()?, admin.clone());
    JsonResponse::json(&service.db.read(move |c| store::list(c, &admin, id)).await?)
}

/// Query parameters of the queue of reports.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct ReportParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// By default both.
    #[serde(rename = "f:status")]
    #[param(schema_with = status)]
    status: Option<String>,
    /// By default all.
    #[serde(rename = "f:reason")]
    #[param(schema_with = reason)]
    reason: Option<String>,
    /// The organisation whose listings are reported.
    #[serde(rename = "f:organisationId")]
    #[param(example = "penybont-farm")]
    organisation_id: Option<QueryText>,
    /// `true`: newest first.
    #[serde(rename = "sortDesc")]
    newest_first: bool,
}

fn status() -> Object {
    text_choice(ReportStatus::VARIANTS)
}

fn reason() -> Object {
    text_choice(<ReportReason as VariantNames>::VARIANTS)
}

impl ReportParams {
    fn parse(&self, errors: &mut ValidationErrors) -> (ReportSearch, PageRequest, bool) {
        let search = ReportSearch {
            status: self.status.clone(),
            reason: self.reason.clone(),
            organisation_id: self.organisation_id.as_ref().map(|id| id.0.clone()),
            sorting: order(self.newest_first),
        };
        let page = self.page.parse(&search.sorting, errors);
        (search, page, self.page.count)
    }
}

/// List reports
///
/// The reports of all listings, or of those of one organisation; oldest first by default.
#[utoipa::path(operation_id = "list_reports", tag = "reports", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    params(ListParams, ReportParams), responses((status = 200, body = [Report]), ErrorResponses))]
#[get("/reports")]
async fn list_reports(
    _: Authorized<Admin>,
    query: Query<ReportParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (search, page, count) = query.check(ReportParams::parse)?;
    let read_page = page.clone();
    let found = service.db.read(move |c| store::search(c, &search, &read_page, count)).await?;
    Ok(found.response(&request, &service.public_url, &page))
}

/// Resolve a report
///
/// With `listing_removed` the listing is closed as cancelled, and every open report of it is resolved. A listing that
/// is closed already stays as it is. Resolving a report again with the same outcome changes nothing.
#[utoipa::path(operation_id = "resolve_report", tag = "reports", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    params(("id" = String, Path, description = "The report's id", example = json!(examples::REPORT))),
    request_body = ResolveForm, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/reports/{id}/resolve")]
async fn resolve_report(
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
