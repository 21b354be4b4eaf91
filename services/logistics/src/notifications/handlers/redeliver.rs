//! Delivering a notification again.

use actix_web::web::Data;
use actix_web::{HttpRequest, post};
use common::wire::ActionResult;
use common::{Admin, Authorized, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId};
use database::{AnyConnection, Id};

use crate::Logistics;
use crate::examples;
use crate::notifications::model::redelivery_message;
use crate::notifications::store;

/// Redeliver a notification
///
/// Delivers the notification again with the same `webhook-id` and ten new attempts, whatever its status.
#[utoipa::path(operation_id = "redeliver_notification", tag = "notifications", security(("bearer" = [])),
    params(("loadId" = String, Path, description = "Id of the load", example = json!(examples::COMPLETED_LOAD)),
        ("id" = String, Path, description = "Id of the notification", example = json!(examples::NOTIFICATION))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/loads/{loadId}/notifications/{id}/redeliver")]
pub(super) async fn redeliver(
    _admin: Authorized<Admin>,
    path: PathId,
    idempotency: Idempotency,
    request: HttpRequest,
    fingerprint: Fingerprint,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let load_id = request.match_info().get("loadId").and_then(Id::parse).ok_or(Error::NotFound)?;
    let id = path.id()?;
    let effect = move |c: &mut AnyConnection| {
        let previous_status = store::redeliver(c, Some(load_id), id)?.ok_or(Error::NotFound)?;
        JsonResponse::json(&ActionResult::created(redelivery_message(&previous_status), id))
    };
    let response = idempotency.run(&app.db, fingerprint, async || Ok(effect)).await?;
    app.notifications.wake();
    Ok(response)
}
