//! `GET /v1/reports`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::validation::ValidationErrors;
use common::{
    Admin, Authorized, Error, ErrorResponses, JsonResponse, ListParams, PageRequest, Query, text_choice,
};
use serde::Deserialize;
use strum::VariantNames;
use utoipa::IntoParams;
use utoipa::openapi::schema::Object;

use crate::Livestock;
use crate::reports::model::{Report, ReportReason, ReportStatus, order};
use crate::reports::store::{self, ReportSearch};

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
}

fn status() -> Object {
    text_choice(ReportStatus::VARIANTS)
}

fn reason() -> Object {
    text_choice(<ReportReason as VariantNames>::VARIANTS)
}

impl ReportParams {
    fn parse(&self, errors: &mut ValidationErrors) -> (ReportSearch, PageRequest, bool) {
        let search = ReportSearch { status: self.status.clone(), reason: self.reason.clone() };
        (search, self.page.parse(&order(), errors), self.page.count)
    }
}

/// List reports
///
/// The reports of all listings, oldest first.
#[utoipa::path(operation_id = "list_reports", tag = "reports", security(("bearer" = [])),
    params(ListParams, ReportParams), responses((status = 200, body = [Report]), ErrorResponses))]
#[get("/reports")]
pub(super) async fn list_reports(
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
