//! The operations on the deliveries of a webhook.

use actix_web::web::Data;
use actix_web::{HttpRequest, get, post};
use common::validation::ValidationErrors;
use common::wire::ActionResult;
use common::{
    Authorized, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, ListParams, MemberOrAdmin,
    PageRequest, PathId, Query, Sorting, text_choice,
};
use database::{AnyConnection, Id};
use outbox::{Channel, Status};
use serde::Deserialize;
use strum::VariantNames;
use utoipa::IntoParams;
use utoipa::openapi::schema::Object;

use crate::delivery::{Receivers, WebhookDelivery, store};
use crate::webhook;
use crate::{Webhooks, examples};

/// Query parameters of the deliveries of a webhook.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct DeliveryParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// The delivery status.
    #[serde(rename = "f:status")]
    #[param(schema_with = status)]
    status: Option<String>,
}

fn status() -> Object {
    text_choice(Status::VARIANTS)
}

impl DeliveryParams {
    fn parse(&self, errors: &mut ValidationErrors) -> (Option<String>, PageRequest, bool) {
        (self.status.clone(), self.page.parse(&Sorting::newest_first(), errors), self.page.count)
    }
}

/// List the deliveries of a webhook
///
/// Newest first.
#[utoipa::path(operation_id = "list_webhook_deliveries", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK)),
        ListParams, DeliveryParams),
    responses((status = 200, body = [WebhookDelivery]), ErrorResponses))]
#[get("/webhooks/{id}/deliveries")]
pub(super) async fn list_deliveries(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    query: Query<DeliveryParams>,
    request: HttpRequest,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (status, page, count) = query.check(DeliveryParams::parse)?;
    let (id, caller, read_page) = (path.id()?, caller.clone(), page.clone());
    let read = move |c: &mut _| {
        webhook::store::check_managed(c, &caller, id)?;
        store::list(c, id, status.as_deref(), &read_page, count)
    };
    let found = webhooks.db.read(read).await?;
    Ok(found.response(&request, &webhooks.public_url, &page))
}

/// Redeliver an event
///
/// Delivers the event again with the same `webhook-id` and ten new attempts, whatever its status. 409
/// `body_expired` if its body is deleted: 7 days after delivery, 30 days after failure.
#[utoipa::path(operation_id = "redeliver_webhook_delivery", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
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
