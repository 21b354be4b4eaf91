//! `POST /v1/webhooks/{id}/test`.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{
    Authorized, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, MemberOrAdmin, PathId,
};
use database::{AnyConnection, Id};

use crate::Webhooks;
use crate::{delivery, examples, webhook};

/// Test a webhook
///
/// Sends the event `webhook.test`. `id` is that of its delivery, whose status shows the outcome.
#[utoipa::path(operation_id = "test_webhook", tag = "webhooks", security(("bearer" = [])),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/webhooks/{id}/test")]
pub(super) async fn test(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (id, caller) = (path.id()?, caller.clone());
    let effect = move |c: &mut AnyConnection| {
        webhook::store::check_active(c, &caller, id)?;
        let delivery = Id::new();
        delivery::store::create_test(c, id, delivery)?;
        JsonResponse::json(&ActionResult::created("The test is sent.", delivery))
    };
    let response = idempotency.run(&webhooks.db, fingerprint, async || Ok(effect)).await?;
    webhooks.wake();
    Ok(response)
}
