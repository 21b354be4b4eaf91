//! Reading loads.

use actix_web::web::Data;
use actix_web::{Either, HttpRequest, get};
use common::validation::{Code, ValidationErrors};
use common::{
    Caller, Error, ErrorResponses, Format, JsonResponse, PageParams, PathId, Query, StreamingResponse,
};
use database::Id;
use serde::Deserialize;
use utoipa::IntoParams;

use super::export::streamed;
use super::model::Load;
use super::search::{self, LoadSearchParams};
use super::store;
use crate::Logistics;

/// Search for loads (by organisation, carrier and date range)
///
/// As CSV (`format=CSV` or `Accept: text/csv`) all matches are sent unless there is a `limit`. They are read in blocks:
/// a load that is created or changed meanwhile may be missing, or stand where it stood before.
#[utoipa::path(operation_id = "search_loads", tag = "loads", security(("bearer" = [])), params(LoadSearchParams, PageParams),
    responses((status = 200, content(([Load] = "application/json"), (String = "text/csv"))), ErrorResponses))]
#[get("/loads")]
pub(super) async fn search_loads(
    caller: Caller,
    query: Query<LoadSearchParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<Either<JsonResponse, StreamingResponse>, Error> {
    let accepted = Format::accepted(&request, Format::Json);
    let search = query.check(|p, errors| p.parse(accepted, errors))?;
    if search.format == Format::Csv {
        return streamed(&app, caller, search, "loads.csv").await.map(Either::Right);
    }
    let page = search.page.clone();
    let rows = app.db.read(move |c| search::store::search(c, &caller, &search, &search.page)).await?;
    Ok(Either::Left(rows.response(&request, &app.public_url, &page)))
}

/// Gets the details of a load
#[utoipa::path(operation_id = "find_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id")), responses((status = 200, body = Load), ErrorResponses))]
#[get("/loads/{id}")]
pub(super) async fn find(caller: Caller, path: PathId, app: Data<Logistics>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let document = app.db.read(move |c| store::find(c, &caller, id)).await?;
    Ok(JsonResponse::raw(document.0))
}

/// Query parameters of the listing by ids.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct Ids {
    /// Comma-separated, at most 100.
    #[param(required = true, min_length = 1)]
    ids: String,
}

const MAX_IDS: usize = 100;

impl Ids {
    /// The ids, each once; what is no UUID is left out.
    fn parse(&self, errors: &mut ValidationErrors) -> Vec<Id> {
        if self.ids.split(',').count() > MAX_IDS {
            let most = serde_json::json!({ "maximum": MAX_IDS });
            errors.push_with("ids", Code::Length, format!("must name at most {MAX_IDS} loads"), most);
        }
        let mut ids = Vec::new();
        for id in self.ids.split(',').filter_map(|id| Id::parse(id.trim())) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }
}

/// Gets loads by IDs
///
/// In the order asked, each once. Unknown ids and those of other organisations are named in `X-Missing-Ids`.
#[utoipa::path(operation_id = "list_loads_by_ids", tag = "loads", security(("bearer" = [])), params(Ids),
    responses((status = 200, body = [Load]), ErrorResponses))]
#[get("/loads/by-ids")]
pub(super) async fn list_by_ids(
    caller: Caller,
    query: Query<Ids>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let ids = query.check(Ids::parse)?;
    let asked = ids.clone();
    let mut found = app.db.read(move |c| store::list_by_ids(c, &caller, &asked)).await?;
    found.sort_by_key(|(id, _)| ids.iter().position(|asked| asked == id));
    let missing: Vec<_> =
        ids.iter().filter(|id| !found.iter().any(|(f, _)| f == *id)).map(Id::to_string).collect();
    let answer = JsonResponse::array(found.iter().map(|(_, document)| document.0.as_str()));
    Ok(if missing.is_empty() { answer } else { answer.header("X-Missing-Ids", missing.join(",")) })
}
