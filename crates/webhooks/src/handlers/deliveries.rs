//! The operations on the deliveries of a webhook.

use actix_web::web::Data;
use actix_web::{HttpRequest, get, post};
use common::validation::{Code, ValidationErrors};
use common::wire::{ActionResult, DateOrDateTime};
use common::{
    Authorized, Body, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, ListParams,
    MemberOrAdmin, PageRequest, PathId, Query, Sorting, text_choice,
};
use database::{AnyConnection, Id};
use outbox::{Channel, Status};
use serde::{Deserialize, Serialize};
use strum::VariantNames;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};

use crate::delivery::store::{self, DeliverySearch, Redelivery};
use crate::delivery::{Receivers, WebhookDelivery, WebhookDeliveryDetails};
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
    /// The name of the event.
    #[serde(rename = "f:event")]
    #[param(schema_with = event)]
    event: Option<String>,
}

/// Returns the schema of a name, to which [`crate::describe`] adds those of the events.
fn event() -> Object {
    ObjectBuilder::new().schema_type(Type::String).description(Some("The name of the event")).build()
}

fn status() -> Object {
    text_choice(Status::VARIANTS)
}

impl DeliveryParams {
    fn parse(&self, errors: &mut ValidationErrors) -> (DeliverySearch, PageRequest, bool) {
        let search = DeliverySearch { status: self.status.clone(), event: self.event.clone() };
        (search, self.page.parse(&Sorting::newest_first(), errors), self.page.count)
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
    let (search, page, count) = query.check(DeliveryParams::parse)?;
    let (id, caller, read_page) = (path.id()?, caller.clone(), page.clone());
    let read = move |c: &mut _| {
        webhook::store::check_managed(c, &caller, id)?;
        store::list(c, id, &search, &read_page, count)
    };
    let found = webhooks.db.read(read).await?;
    Ok(found.response(&request, &webhooks.public_url, &page))
}

/// Get a delivery
///
/// With its body and its last 10 attempts. The bodies of answers are not kept.
#[utoipa::path(operation_id = "find_webhook_delivery", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK)),
        ("deliveryId" = String, Path, description = "The id of the delivery", example = json!(examples::DELIVERY))),
    responses((status = 200, body = WebhookDeliveryDetails), ErrorResponses))]
#[get("/webhooks/{id}/deliveries/{deliveryId}")]
pub(super) async fn find_delivery(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    request: HttpRequest,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (webhook, caller) = (path.id()?, caller.clone());
    let delivery = request.match_info().get("deliveryId").and_then(Id::parse);
    let read = move |c: &mut _| {
        webhook::store::check_managed(c, &caller, webhook)?;
        store::find(c, webhook, delivery.ok_or(Error::NotFound)?)
    };
    JsonResponse::json(&webhooks.db.read(read).await?)
}

/// The deliveries to deliver again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(example = json!({ "sinceUTC": "2026-03-01T09:30:00Z", "untilUTC": "2026-03-02T09:30:00Z" }))]
pub(super) struct RedeliveryForm {
    /// The first time of the events, which is `createdAtUTC` of their deliveries.
    #[serde(rename = "sinceUTC")]
    #[schema(required = true)]
    since: DateOrDateTime,
    /// The last time of the events. A date covers the whole day.
    #[serde(rename = "untilUTC")]
    #[schema(nullable = false)]
    until: Option<DateOrDateTime>,
    /// The status of the deliveries.
    #[schema(nullable = false)]
    status: Option<SettledStatus>,
}

/// A status of deliveries that can be delivered again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum SettledStatus {
    #[default]
    Failed,
    Delivered,
}

impl RedeliveryForm {
    fn validate(&self, errors: &mut ValidationErrors) {
        let until = self.until.as_ref().and_then(DateOrDateTime::end);
        if self.since.start().zip(until).is_some_and(|(since, until)| since > until) {
            errors.push("sinceUTC", Code::Inconsistent, "must not be after untilUTC");
        }
    }

    fn redelivery(&self, webhook: Id) -> Result<Redelivery, Error> {
        let not_validated = || Error::Internal(anyhow::anyhow!("sinceUTC was not validated"));
        Ok(Redelivery {
            webhook,
            since: self.since.start().ok_or_else(not_validated)?,
            until: self.until.as_ref().and_then(DateOrDateTime::end),
            status: match self.status.unwrap_or_default() {
                SettledStatus::Failed => Status::Failed,
                SettledStatus::Delivered => Status::Delivered,
            },
        })
    }
}

/// The response to a redelivery of many events.
#[derive(Debug, Serialize, ToSchema)]
struct RedeliveryResult {
    /// One sentence for a person.
    message: String,
    /// Always `success`.
    #[schema(value_type = String)]
    status: &'static str,
    /// The number of events that are delivered again.
    count: usize,
    /// `true` if there are more than 10,000: the others are later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    more: Option<bool>,
}

/// Redeliver many events
///
/// Delivers the events of a period again, failed ones by default, as the redelivery of one event does: up to 10,000,
/// oldest first. Those whose bodies are deleted are left out.
#[utoipa::path(operation_id = "redeliver_webhook_deliveries", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK))),
    request_body = RedeliveryForm, responses((status = 200, body = RedeliveryResult), ErrorResponses))]
#[post("/webhooks/{id}/deliveries/redeliver")]
pub(super) async fn redeliver_many(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    idempotency: Idempotency,
    body: Body<RedeliveryForm>,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(RedeliveryForm::validate)?;
    let (again, caller) = (form.redelivery(path.id()?)?, caller.clone());
    let effect = move |c: &mut AnyConnection| {
        webhook::store::check_active(c, &caller, again.webhook)?;
        let (count, is_more) = store::redeliver_many(c, &again)?;
        let message = match count {
            1 => "1 event is delivered again.".to_owned(),
            count => format!("{count} events are delivered again."),
        };
        let more = is_more.then_some(true);
        JsonResponse::json(&RedeliveryResult { message, status: "success", count, more })
    };
    let response = idempotency.run(&webhooks.db, fingerprint, async || Ok(effect)).await?;
    webhooks.wake();
    Ok(response)
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
