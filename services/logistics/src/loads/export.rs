//! Loads as a stream of any length: the search as CSV, and the completed export.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::validation::ValidationErrors;
use common::wire::{DateOrDateTime, QueryText};
use common::{
    Caller, Error, ErrorResponses, Format, PageRequest, Query, StreamingResponse, stream_by_ids, stream_pages,
};
use database::Id;
use serde::Deserialize;
use utoipa::IntoParams;

use super::columns::TABLE;
use super::model::Load;
use super::search::{self, LoadSearch};
use super::store;
use crate::Logistics;

/// Query parameters of the completed export (interface.md, 4.2).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Parameters {
    /// The first day or instant of completion.
    #[serde(rename = "startDateISO")]
    start_date: Option<DateOrDateTime>,
    /// The last one; a date covers the whole day.
    #[serde(rename = "endDateISO")]
    end_date: Option<DateOrDateTime>,
    /// `CSV` or `JSON`, in any case; by default what the `Accept` header prefers, else CSV.
    format: Option<QueryText>,
}

impl Parameters {
    fn parse(&self, accepted: Format, errors: &mut ValidationErrors) -> LoadSearch {
        let range = search::date_range(self.start_date.as_ref(), self.end_date.as_ref(), errors);
        LoadSearch::completed_in(range, Format::named(self.format.as_deref(), accepted, errors))
    }

    /// The file's name, with the days as they were given.
    fn file_name(&self) -> String {
        let dates = [&self.start_date, &self.end_date].into_iter().flatten();
        let days: Vec<_> = dates.filter_map(|date| date.0.get(..10)).collect();
        ["loads-completed"].into_iter().chain(days).collect::<Vec<_>>().join("-") + ".csv"
    }
}

/// Download loads that have completed
///
/// All of the caller's organisation that were completed in the range, oldest first. A load that its carrier entered is
/// left out of its organiser's export until the organiser accepts it. Loads are read in blocks: a load
/// that is completed meanwhile may be missing.
#[utoipa::path(operation_id = "export_completed_loads", tag = "loads", security(("bearer" = [])), params(Parameters),
    responses((status = 200, content((String = "text/csv"), ([Load] = "application/json"))), ErrorResponses))]
#[get("/loads/completed")]
pub(super) async fn export_completed(
    caller: Caller,
    query: Query<Parameters>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<StreamingResponse, Error> {
    let accepted = Format::accepted(&request, Format::Csv);
    let (search, name) = query.check(|p, errors| (p.parse(accepted, errors), p.file_name()))?;
    streamed(&app, caller, search, &name).await
}

/// All loads of a search, from its page on.
pub(super) async fn streamed(
    app: &Logistics,
    caller: Caller,
    search: LoadSearch,
    name: &str,
) -> Result<StreamingResponse, Error> {
    let (counter, wanted) = (caller.clone(), search.clone());
    let ordered = search.has_index(&caller);
    let (total, by_pages) = app
        .db
        .read(move |c| {
            let by_pages = ordered && search::store::skips_few_loads(c, &counter, &wanted)?;
            Ok::<_, Error>((search::store::count(c, &counter, &wanted)?, by_pages))
        })
        .await?;
    let (format, page, reader) = (search.format, search.page.clone(), caller.clone());
    let streamed = if by_pages {
        let search = LoadSearch { count: false, ..search };
        let read = move |c: &mut _, page: &PageRequest| search::store::search(c, &caller, &search, page);
        StreamingResponse::new(format, TABLE, name, stream_pages(&app.db, page, read)).await?
    } else {
        let block = move |c: &mut _, page: &PageRequest| search::store::id_batch(c, &caller, &search, page);
        let find = move |c: &mut _, ids: &[Id]| store::list_by_ids(c, &reader, ids);
        StreamingResponse::new(format, TABLE, name, stream_by_ids(&app.db, page, block, find)).await?
    };
    Ok(streamed.total(total))
}
