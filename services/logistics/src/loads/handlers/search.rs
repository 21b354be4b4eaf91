//! `GET /v1/loads`.

use actix_web::web::Data;
use actix_web::{Either, HttpRequest, get};
use common::{
    Caller, Error, ErrorResponses, Format, JsonResponse, PageParams, Query, StreamingResponse, Workbook,
};

use crate::Logistics;
use crate::loads::export;
use crate::loads::model::Load;
use crate::loads::search::{LoadSearchParams, store};

/// Search for loads (by organisation, carrier and date range)
///
/// As CSV (`format=CSV` or `Accept: text/csv`) or XLSX (`format=XLSX`) the response has all matches, unless there is a
/// `limit`; XLSX has at most 1,000,000. Rows are read in blocks: a load that is created or changed meanwhile may be
/// missing or in its old place.
#[utoipa::path(operation_id = "search_loads", tag = "loads", security(("bearer" = [])),
    params(PageParams, LoadSearchParams),
    responses((status = 200, content(([Load] = "application/json"), (String = "text/csv"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), ErrorResponses))]
#[get("/loads")]
pub(super) async fn search(
    caller: Caller,
    query: Query<LoadSearchParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<Either<JsonResponse, StreamingResponse>, Error> {
    let accepted = Format::accepted(&request, &Format::ALL, Format::Json);
    let search = query.check(|parameters, errors| parameters.parse(accepted, errors))?;
    if search.format != Format::Json {
        return export::stream(&app.db, caller, search, "loads").await.map(Either::Right);
    }
    let page = search.page.clone();
    let has_one_plan = search.has_one_plan();
    let read = move |c: &mut _| store::search(c, &caller, &search, &search.page);
    let rows = if has_one_plan { app.db.read_in_index_order(read).await } else { app.db.read(read).await }?;
    Ok(Either::Left(rows.response(&request, &app.public_url, &page)))
}
