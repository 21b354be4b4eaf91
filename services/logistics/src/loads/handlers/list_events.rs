//! `GET /v1/loads/{id}/events`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::{Caller, Error, ErrorResponses, JsonResponse, ListParams, PathId, Query};

use crate::Logistics;
use crate::examples;
use crate::loads::history::{self, LoadEvent};
use crate::loads::store;

/// List the history of a load
///
/// Returns an event for each change of the load, oldest first.
#[utoipa::path(operation_id = "list_load_events", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::COMPLETED_LOAD)), ListParams),
    responses((status = 200, body = [LoadEvent]), ErrorResponses))]
#[get("/loads/{id}/events")]
pub(super) async fn list(
    caller: Caller,
    path: PathId,
    query: Query<ListParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (page, count) =
        query.check(|parameters, errors| (parameters.parse(&history::order(), errors), parameters.count))?;
    let (id, read_page) = (path.id()?, page.clone());
    let read = move |c: &mut _| {
        let load = store::find_own(c, &caller, id)?;
        let since = store::carried_since(c, &load, &caller)?;
        history::list(c, id, since, &read_page, count)
    };
    Ok(app.db.read(read).await?.response(&request, &app.public_url, &page))
}
