//! `POST /v1/webhooks/{id}/deliveries/{deliveryId}/redeliver`.

use actix_web::web::Data;
use actix_web::{HttpRequest, post};
use common::wire::ActionResult;
use common::{
    Authorized, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, MemberOrAdmin, PathId,
};
use database::{AnyConnection, Id};
use outbox::Channel;

use crate::Webhooks;
use crate::delivery::{Receivers, store};
use crate::examples;
use crate::webhook;

/// Redeliver an event
///
/// Delivers the event again with the same `webhook-id` and ten new attempts, whatever its status. 409
/// `body_expired` if its body is deleted: 7 days after delivery, 30 days after failure.
#[utoipa::path(operation_id = "redeliver_webhook_delivery", tag = "webhooks", security(("bearer" = [])),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK)),
        ("deliveryId" = String, Path, description = "The id of the delivery", example = json!(examples::DELIVERY))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/webhooks/{id}/deliveries/{deliveryId}/redeliver")]
pub(super) async fn redeliver(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    idempotency: Idempotency,
    request: HttpRequest,
    fingerprint: Fingerprint,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (webhook, caller) = (path.id()?, caller.clone());
    let delivery = request.match_info().get("deliveryId").and_then(Id::parse);
    let effect = move |c: &mut AnyConnection| {
        webhook::store::check_managed(c, &caller, webhook)?;
        let delivery = delivery.ok_or(Error::NotFound)?;
        let previous_status = store::redeliverable(c, webhook, delivery)?;
        webhook::store::check_active(c, &caller, webhook)?;
        outbox::redeliver(c, &Receivers::OUTBOX, &webhook.to_string(), delivery)?;
        let message = format!("The event was {previous_status} and is delivered again.");
        JsonResponse::json(&ActionResult::created(message, delivery))
    };
    let response = idempotency.run(&webhooks.db, fingerprint, async || Ok(effect)).await?;
    webhooks.wake();
    Ok(response)
}
