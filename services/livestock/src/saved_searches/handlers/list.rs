//! `GET /v1/saved-searches`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::{Caller, Error, ErrorResponses, JsonResponse, ListParams, Query};

use crate::Livestock;
use crate::saved_searches::model::{SavedSearch, order};
use crate::saved_searches::store;

/// List saved searches
///
/// Those of the caller, newest first.
#[utoipa::path(operation_id = "list_saved_searches", tag = "saved searches", security(("bearer" = [])),
    params(ListParams), responses((status = 200, body = [SavedSearch]), ErrorResponses))]
#[get("/saved-searches")]
pub(super) async fn list_saved_searches(
    caller: Caller,
    query: Query<ListParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (page, count) =
        query.check(|parameters, errors| (parameters.parse(&order(), errors), parameters.count))?;
    let read_page = page.clone();
    let found = service.db.read(move |c| store::list(c, &caller, &read_page, count)).await?;
    Ok(found.response(&request, &service.public_url, &page))
}
