//! `GET /v1/saved-searches/{id}`.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, PathId, Revised};

use crate::Livestock;
use crate::examples;
use crate::saved_searches::model::SavedSearch;
use crate::saved_searches::store;

/// Get a saved search
#[utoipa::path(operation_id = "find_saved_search", tag = "saved searches", security(("bearer" = [])),
    params(("id" = String, Path, description = "The saved search's id", example = json!(examples::SAVED_SEARCH)),
        ("If-None-Match" = Option<String>, Header, description = "Revisions that the client knows")),
    responses((status = 200, body = SavedSearch, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 304, description = "The client knows this revision."), ErrorResponses))]
#[get("/saved-searches/{id}")]
pub(super) async fn find_saved_search(
    caller: Caller,
    path: PathId,
    service: Data<Livestock>,
) -> Result<Revised, Error> {
    let id = path.id()?;
    service.db.read(move |c| store::find(c, &caller, id)).await
}
