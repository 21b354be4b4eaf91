//! `DELETE /v1/saved-searches/{id}`.

use actix_web::delete;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId, Precondition};

use crate::Livestock;
use crate::examples;
use crate::saved_searches::store;

/// Delete a saved search
#[utoipa::path(operation_id = "delete_saved_search", tag = "saved searches", security(("bearer" = [])),
    params(("id" = String, Path, description = "The saved search's id", example = json!(examples::SAVED_SEARCH_TO_DELETE)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    responses((status = 200, body = ActionResult),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[delete("/saved-searches/{id}")]
pub(super) async fn delete_saved_search(
    caller: Caller,
    path: PathId,
    condition: Precondition,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    service.db.write(move |c| store::delete(c, &caller, id, &condition)).await?;
    JsonResponse::json(&ActionResult::new("The saved search is deleted."))
}
