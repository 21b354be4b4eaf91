//! `GET /v1/loads/completed`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::validation::ValidationErrors;
use common::wire::{DateOrDateTime, QueryText};
use common::{Caller, Error, ErrorResponses, Format, Query, StreamingResponse, Workbook};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Logistics;
use crate::loads::export;
use crate::loads::model::Load;
use crate::loads::search::{LoadSearch, TimeRange};

/// Query parameters of the completed export.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct ExportParameters {
    /// The first day or instant of completion.
    #[serde(rename = "startDateISO")]
    #[param(example = "2026-03-01")]
    start_date: Option<DateOrDateTime>,
    /// The last day or instant of completion. A date covers the whole day.
    #[serde(rename = "endDateISO")]
    #[param(example = "2026-03-31")]
    end_date: Option<DateOrDateTime>,
    /// `CSV`, `XLSX` or `JSON`, in any case; by default the format that the `Accept` header prefers, else CSV.
    format: Option<QueryText>,
    /// `true`: CSV begins with a byte order mark, which Excel needs.
    bom: bool,
}

impl ExportParameters {
    /// Returns the search for the loads to export, and adds invalid parameters to `errors`.
    fn parse(&self, accepted: Format, errors: &mut ValidationErrors) -> LoadSearch {
        let range = TimeRange::new(self.start_date.as_ref(), self.end_date.as_ref(), errors);
        let format = Format::named(self.format.as_deref(), &Format::ALL, accepted, errors);
        LoadSearch::completed_in(range, format.with_bom(self.bom))
    }

    /// Returns the name of the attachment without its extension, with the days of the given dates.
    fn file_name(&self) -> String {
        let dates = [&self.start_date, &self.end_date].into_iter().flatten();
        let days: Vec<_> = dates.filter_map(|date| date.0.get(..10)).collect();
        ["loads-completed"].into_iter().chain(days).collect::<Vec<_>>().join("-")
    }
}

/// Download loads that have completed
///
/// All loads of the caller's organisation that were completed in the range, oldest first. A load that a carrier entered
/// is not part of its organiser's export until the organiser accepts it. Loads are read in blocks: a load that is
/// completed meanwhile may be missing. XLSX has at most 1,000,000.
#[utoipa::path(operation_id = "export_completed_loads", tag = "loads", security(("bearer" = [])),
    params(ExportParameters),
    responses((status = 200, content((String = "text/csv"), ([Load] = "application/json"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), ErrorResponses))]
#[get("/loads/completed")]
pub(super) async fn export_completed(
    caller: Caller,
    query: Query<ExportParameters>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<StreamingResponse, Error> {
    let accepted = Format::accepted(&request, &Format::ALL, Format::Csv);
    let parse =
        |p: &ExportParameters, errors: &mut ValidationErrors| (p.parse(accepted, errors), p.file_name());
    let (search, file_name) = query.check(parse)?;
    export::stream(&app.db, caller, search, &file_name).await
}
