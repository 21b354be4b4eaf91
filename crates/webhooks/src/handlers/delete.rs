//! `DELETE /v1/webhooks/{id}`.

use actix_web::delete;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Authorized, Error, ErrorResponses, JsonResponse, MemberOrAdmin, PathId, Precondition};

use crate::Webhooks;
use crate::examples;
use crate::webhook::store;

/// Delete a webhook
///
/// Its deliveries are deleted as well.
#[utoipa::path(operation_id = "delete_webhook", tag = "webhooks", security(("bearer" = [])),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK_TO_DELETE)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    responses((status = 200, body = ActionResult),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[delete("/webhooks/{id}")]
pub(super) async fn delete(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    condition: Precondition,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (id, caller) = (path.id()?, caller.clone());
    webhooks.db.write(move |c| store::delete(c, &caller, id, &condition)).await?;
    JsonResponse::json(&ActionResult::new("The webhook is deleted."))
}
