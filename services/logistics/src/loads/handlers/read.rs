//! The operations that read loads.

use actix_web::web::Data;
use actix_web::{Either, HttpRequest, get};
use common::validation::ValidationErrors;
use common::wire::{DateOrDateTime, QueryText};
use common::{
    Caller, Error, ErrorResponses, Format, IdsParams, JsonResponse, ListParams, PageParams, PageRequest,
    PathId, Query, StreamingResponse, TableLayout, WithEtag, Workbook, documents_by_ids, stream_by_ids,
    stream_pages,
};
use database::{Database, Id};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::loads::history::{self, EventType, LoadEvent};
use crate::loads::members::layout;
use crate::loads::model::Load;
use crate::loads::search::summary::{self, LoadSummary, SummaryParams};
use crate::loads::search::{
    LoadFilters, LoadSearch, LoadSearchParams, TimeRange, find_page, store as search_store,
};
use crate::loads::store;
use crate::notifications::{self, Notification};
use crate::{Logistics, examples};

/// Get the details of a load
#[utoipa::path(operation_id = "find_load", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD)),
        ("If-None-Match" = Option<String>, Header, description = "Revisions that the client knows")),
    responses((status = 200, body = Load, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 304, description = "The client knows this revision."), ErrorResponses))]
#[get("/loads/{id}")]
pub(super) async fn find(caller: Caller, path: PathId, app: Data<Logistics>) -> Result<WithEtag, Error> {
    let id = path.id()?;
    app.db.read(move |c| store::find(c, &caller, id)).await
}

/// Search for loads (by organisation, carrier and date range)
///
/// As CSV (`format=CSV` or `Accept: text/csv`) or XLSX (`format=XLSX`) the response has all matches, unless there is a
/// `limit`; XLSX has at most 1,000,000. Rows are read in blocks: a load that is created or changed meanwhile may be
/// missing or in its old place.
#[utoipa::path(operation_id = "search_loads", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(PageParams, LoadSearchParams, LoadFilters),
    responses((status = 200, content(([Load] = "application/json"), (String = "text/csv"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), ErrorResponses))]
#[get("/loads")]
pub(super) async fn search_loads(
    caller: Caller,
    query: Query<LoadSearchParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<Either<JsonResponse, StreamingResponse>, Error> {
    let accepted = Format::accepted(&request, &Format::ALL, Format::Json);
    let search = query.check(|parameters, errors| parameters.parse(accepted, errors))?;
    if search.format != Format::Json {
        return export(&app.db, caller, search, "loads").await.map(Either::Right);
    }
    let page = search.page.clone();
    let rows = find_page(&app.db, caller, search).await?;
    Ok(Either::Left(rows.response(&request, &app.public_url, &page)))
}

/// Add up loads
///
/// The number and the weights of the loads that the filters find, in all and by group. The sums agree with the search
/// at every moment.
#[utoipa::path(operation_id = "summarize_loads", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(SummaryParams, LoadFilters),
    responses((status = 200, content((LoadSummary = "application/json"), (String = "text/csv"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), ErrorResponses))]
#[get("/loads/summary")]
pub(super) async fn summarize(
    caller: Caller,
    query: Query<SummaryParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<Either<JsonResponse, StreamingResponse>, Error> {
    let accepted = Format::accepted(&request, &Format::ALL, Format::Json);
    let search = query.check(|parameters, errors| parameters.parse(accepted, errors))?;
    let format = search.loads.format;
    let summary = app.db.read(move |c| search_store::summarize(c, &caller, &search)).await?;
    if format == Format::Json {
        return JsonResponse::json(&summary).map(Either::Left);
    }
    let layout = TableLayout { columns: summary::COLUMNS.to_vec(), write: summary::write_row };
    let rows = futures_util::stream::iter([summary.into_rows()]);
    StreamingResponse::new(format, layout, "loads-summary", rows).await.map(Either::Right)
}

/// Get loads by ids
///
/// In the order of the request, each once. Ids that are unknown or not the caller's are listed in `X-Missing-Ids`.
#[utoipa::path(operation_id = "list_loads_by_ids", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(("ids" = String, Query, description = "Comma-separated, at most 100.", min_length = 1,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$",
        example = json!([examples::LOAD, examples::COMPLETED_LOAD].join(",")))),
    responses((status = 200, body = [Load]), ErrorResponses))]
#[get("/loads/by-ids")]
pub(super) async fn list_by_ids(
    caller: Caller,
    query: Query<IdsParams>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let ids = query.check(IdsParams::parse)?;
    let requested = ids.clone();
    let found = app.db.read(move |c| store::list_by_ids(c, &caller, &requested)).await?;
    Ok(documents_by_ids(&ids, found))
}

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
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
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
    export(&app.db, caller, search, &file_name).await
}

/// Query parameters of the history.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct HistoryParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// Only events of these types; repeated or comma-separated.
    #[serde(rename = "f:type")]
    #[param(inline)]
    types: Vec<EventType>,
}

/// List the history of a load
///
/// Returns an event for each change of the load and each note on it, oldest first. With `f:type=noted`, a driver reads
/// the notes since the load was last sent to the driver, and a former party those from before.
#[utoipa::path(operation_id = "list_load_events", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::COMPLETED_LOAD)), ListParams,
        HistoryParams),
    responses((status = 200, body = [LoadEvent]), ErrorResponses))]
#[get("/loads/{id}/events")]
pub(super) async fn list_events(
    caller: Caller,
    path: PathId,
    query: Query<HistoryParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (page, count, types) =
        query.check(|p, errors| (p.page.parse(&history::order(), errors), p.page.count, p.types.clone()))?;
    let (id, read_page) = (path.id()?, page.clone());
    let read = move |c: &mut _| {
        let reader = store::history_reader(c, &caller, id, &types)?;
        history::list(c, id, &reader, &types, &read_page, count)
    };
    Ok(app.db.read(read).await?.response(&request, &app.public_url, &page))
}

/// List notifications of a load
///
/// Returns the newest 1,000 notifications sent to the load's drivers and carriers, newest first.
#[utoipa::path(operation_id = "list_notifications_of_load", tag = "notifications", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(("id" = String, Path, description = "Id of the load", example = json!(examples::COMPLETED_LOAD))),
    responses((status = 200, body = [Notification]), ErrorResponses))]
#[get("/loads/{id}/notifications")]
pub(super) async fn list_notifications(
    caller: Caller,
    path: PathId,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let listed = app.db.read(move |c| {
        let load = store::find_own(c, &caller, id)?;
        let since = store::carried_since(c, &load, &caller)?;
        notifications::list(c, &caller, id, since.map(|since| since.at))
    });
    JsonResponse::json(&listed.await?)
}

/// Streams the loads of a search from its page on, up to its limit. A file is an attachment with this name and the
/// extension of its format.
///
/// Reads page by page if an index has the order of the search and no page skips many rows. Otherwise reads the ids in
/// large blocks, and then the documents by id.
///
/// # Errors
/// Errors of the first read. A later error aborts the response.
async fn export(
    db: &Database,
    caller: Caller,
    search: LoadSearch,
    file_name: &str,
) -> Result<StreamingResponse, Error> {
    let probe_caller = caller.clone();
    let (search, total, by_pages) = db
        .read_from_standby(move |c| {
            let search = search_store::in_used_roles(c, &probe_caller, search.clone())?;
            let by_pages = search_store::has_cheap_pages(c, &probe_caller, &search)?;
            let total = search_store::count(c, &probe_caller, &search)?;
            Ok::<_, Error>((search, total, by_pages))
        })
        .await?;
    let layout = layout(&search.columns);
    let (format, page, reader) = (search.format, search.page.clone(), caller.clone());
    let response = if by_pages {
        let search = LoadSearch { count: false, ..search };
        let read = move |c: &mut _, page: &PageRequest| search_store::read_page(c, &caller, &search, page);
        StreamingResponse::new(format, layout, file_name, stream_pages(db, page, read)).await?
    } else {
        let block = move |c: &mut _, page: &PageRequest| search_store::id_batch(c, &caller, &search, page);
        let list = move |c: &mut _, ids: &[Id]| store::list_by_ids(c, &reader, ids);
        StreamingResponse::new(format, layout, file_name, stream_by_ids(db, page, block, list)).await?
    };
    Ok(response.total(total))
}
