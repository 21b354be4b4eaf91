//! `PATCH /v1/webhooks/{id}`.

use actix_web::patch;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::{
    Authorized, Body, Error, ErrorResponses, JsonResponse, MemberOrAdmin, MergePatch, PathId, Precondition,
};

use crate::Webhooks;
use crate::delivery;
use crate::examples;
use crate::webhook::{Webhook, WebhookPatch, parse_events, parsed_url, store, validate_patch};

/// Edit a webhook
///
/// A merge patch (RFC 7396). Status `disabled` makes pending deliveries fail; they can be redelivered once the webhook
/// is active again.
#[utoipa::path(operation_id = "update_webhook", tag = "webhooks", security(("bearer" = [])),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body(content((WebhookPatch = "application/merge-patch+json"), (WebhookPatch = "application/json"))),
    responses((status = 200, body = Webhook, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[patch("/webhooks/{id}")]
pub(super) async fn update(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    condition: Precondition,
    body: Body<MergePatch<WebhookPatch>>,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let allow_private = webhooks.allow_private;
    let rules = |patch: &MergePatch<WebhookPatch>, errors: &mut ValidationErrors| {
        validate_patch(patch, allow_private, errors);
    };
    let (requested, _) = body.check(rules)?;
    let (id, caller) = (path.id()?, caller.clone());
    let effect = move |c: &mut _| {
        let change = |webhook: &Webhook| apply(&requested, webhook);
        let (webhook, revision, is_disabled) = store::update(c, &caller, id, &condition, change)?;
        if is_disabled {
            delivery::store::fail_pending(c, &webhook.id)?;
        }
        Ok::<_, Error>(JsonResponse::json(&webhook)?.revision(revision))
    };
    webhooks.db.write(effect).await
}

fn apply(patch: &MergePatch<WebhookPatch>, webhook: &Webhook) -> Webhook {
    let WebhookPatch { url, events, description, status } = &patch.members;
    let description = description.as_ref().map(|text| text.0.clone()).filter(|text| !text.is_empty());
    Webhook {
        url: url.as_deref().map_or_else(|| webhook.url.clone(), parsed_url),
        events: events.as_deref().map_or_else(|| webhook.events.clone(), parse_events),
        description: patch.merge("description", description, webhook.description.clone()),
        status: status.unwrap_or(webhook.status),
        ..webhook.clone()
    }
}
