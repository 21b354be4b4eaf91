//! The operations on one webhook and on their list.

use actix_web::web::Data;
use actix_web::{HttpRequest, delete, get, patch, post};
use common::validation::ValidationErrors;
use common::wire::ActionResult;
use common::{
    Authorized, Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, ListParams,
    Member, MemberOrAdmin, MergePatch, PathId, Policy, Precondition, Query, Sorting, WithEtag,
    security_event,
};
use database::{AnyConnection, Id};
use serde_json::json;

use crate::event::TEST_EVENT;
use crate::sending::generate_secret;
use crate::webhook::{
    NewWebhook, Scope, Webhook, WebhookForm, WebhookPatch, WebhookTest, parse_events, parsed_url, store,
    validate_form, validate_patch,
};
use crate::{Webhooks, delivery, examples};

/// Create a webhook
///
/// The response shows the secret that signs deliveries; a replay for the same idempotency key does not. An organisation
/// can have 20 webhooks. Only `admin` can create and manage webhooks of scope `all`, and needs no organisation for it.
#[utoipa::path(operation_id = "create_webhook", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    request_body = WebhookForm, responses((status = 200, body = Webhook), ErrorResponses))]
#[post("/webhooks")]
pub(super) async fn create(
    caller: Authorized<MemberOrAdmin>,
    idempotency: Idempotency,
    body: Body<WebhookForm>,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let allow_private = webhooks.allow_private;
    let rules =
        |form: &WebhookForm, errors: &mut ValidationErrors| validate_form(form, allow_private, errors);
    let (form, fingerprint) = body.check(rules)?;
    let scope = form.scope.unwrap_or_default();
    scope.check_set_by(&caller)?;
    let organisation = caller.organisation.as_ref().map(|own| own.id.clone());
    if scope == Scope::Own && organisation.is_none() {
        return Err(Error::Forbidden(Member::DENIED_MESSAGE));
    }
    let new = NewWebhook {
        id: Id::new(),
        organisation_id: organisation.unwrap_or_default(),
        scope,
        url: parsed_url(&form.url),
        events: parse_events(&form.events),
        description: form.description.map(|text| text.0).filter(|text| !text.is_empty()),
        secret: generate_secret().map_err(Error::Internal)?,
    };
    let id = new.id;
    let effect = move |c: &mut AnyConnection| Ok((store::create(c, &new)?.response_with_secret()?, ()));
    let run = idempotency.run_with_output(&webhooks.db, fingerprint, async || Ok(effect));
    let (response, created) = run.await?;
    if created.is_some() {
        let scope = scope.into_str();
        security_event!("webhook_created", webhook = %id, scope, "a webhook was created");
    }
    Ok(response)
}

/// List webhooks
///
/// Those of scope `own` of the caller's organisation, for `admin` all, newest first.
#[utoipa::path(operation_id = "list_webhooks", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(ListParams),
    responses((status = 200, body = [Webhook]), ErrorResponses))]
#[get("/webhooks")]
pub(super) async fn list(
    caller: Caller,
    query: Query<ListParams>,
    request: HttpRequest,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (page, count) = query
        .check(|parameters, errors| (parameters.parse(&Sorting::newest_first(), errors), parameters.count))?;
    let read_page = page.clone();
    let found = webhooks.db.read(move |c| store::list(c, &caller, &read_page, count)).await?;
    Ok(found.response(&request, &webhooks.public_url, &page))
}

/// Get a webhook
///
/// Without its secret.
#[utoipa::path(operation_id = "find_webhook", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK)),
        ("If-None-Match" = Option<String>, Header, description = "Revisions that the client knows")),
    responses((status = 200, body = Webhook, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 304, description = "The client knows this revision."), ErrorResponses))]
#[get("/webhooks/{id}")]
pub(super) async fn find(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    webhooks: Data<Webhooks>,
) -> Result<WithEtag, Error> {
    let (id, caller) = (path.id()?, caller.clone());
    webhooks.db.read(move |c| store::find(c, &caller, id)).await
}

/// Edit a webhook
///
/// A merge patch (RFC 7396). Status `disabled` makes pending deliveries fail; they can be redelivered once the webhook
/// is active again.
#[utoipa::path(operation_id = "update_webhook", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
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
    requested.members.scope.unwrap_or_default().check_set_by(&caller)?;
    let (id, caller) = (path.id()?, caller.clone());
    let effect = move |c: &mut _| {
        let mut before = 0;
        let change = |webhook: &Webhook| {
            before = webhook.revision;
            apply(&requested, webhook)
        };
        let (webhook, is_disabled) = store::update(c, &caller, id, &condition, change)?;
        if is_disabled {
            delivery::store::fail_pending(c, &webhook.id)?;
        }
        let response = JsonResponse::json(&webhook)?.revision(webhook.revision);
        let changed =
            (webhook.revision != before).then(|| (webhook.scope.into_str(), webhook.status.into_str()));
        Ok::<_, Error>((response, changed))
    };
    let (response, changed) = webhooks.db.write(effect).await?;
    if let Some((scope, status)) = changed {
        security_event!("webhook_changed", webhook = %id, scope, status, "a webhook was edited");
    }
    Ok(response)
}

fn apply(patch: &MergePatch<WebhookPatch>, webhook: &Webhook) -> Webhook {
    let WebhookPatch { url, events, scope, description, status } = &patch.members;
    let description = description.as_ref().map(|text| text.0.clone()).filter(|text| !text.is_empty());
    Webhook {
        url: url.as_deref().map_or_else(|| webhook.url.clone(), parsed_url),
        events: events.as_deref().map_or_else(|| webhook.events.clone(), parse_events),
        scope: scope.unwrap_or(webhook.scope),
        description: patch.merge("description", description, webhook.description.clone()),
        status: status.unwrap_or(webhook.status),
        ..webhook.clone()
    }
}

/// Delete a webhook
///
/// Its deliveries are deleted as well.
#[utoipa::path(operation_id = "delete_webhook", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
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
    security_event!("webhook_deleted", webhook = %id, "a webhook was deleted");
    JsonResponse::json(&ActionResult::new("The webhook is deleted."))
}

/// Test a webhook
///
/// Sends the event `webhook.test`, or a sample of `event` with `test: true` in `data`, whether the webhook subscribed
/// to it or not. `id` is that of its delivery, whose status shows the outcome.
#[utoipa::path(operation_id = "test_webhook", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!([])), ("x-optional-body" = json!(true))),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK))),
    request_body = WebhookTest, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/webhooks/{id}/test")]
pub(super) async fn test(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    idempotency: Idempotency,
    body: Body<WebhookTest>,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let (id, caller) = (path.id()?, caller.clone());
    let (event, data) = match &form.event {
        Some(event) => (event.0.clone(), webhooks.sample(&event.0)?),
        None => (TEST_EVENT.to_owned(), json!({ "webhookId": id })),
    };
    let effect = move |c: &mut AnyConnection| {
        store::check_active(c, &caller, id)?;
        let delivery = Id::new();
        delivery::store::create_test(c, id, delivery, (&event, &data))?;
        JsonResponse::json(&ActionResult::created("The test is sent.", delivery))
    };
    let response = idempotency.run(&webhooks.db, fingerprint, async || Ok(effect)).await?;
    webhooks.wake();
    Ok(response)
}

/// Rotate the secret of a webhook
///
/// The response shows the new secret; a replay for the same idempotency key does not. For 24 hours, deliveries are
/// signed by the previous one as well.
#[utoipa::path(operation_id = "rotate_webhook_secret", tag = "webhooks", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK))),
    responses((status = 200, body = Webhook), ErrorResponses))]
#[post("/webhooks/{id}/rotate-secret")]
pub(super) async fn rotate_secret(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (id, caller) = (path.id()?, caller.clone());
    let secret = generate_secret().map_err(Error::Internal)?;
    let effect = move |c: &mut AnyConnection| {
        Ok((store::rotate_secret(c, &caller, id, &secret)?.response_with_secret()?, ()))
    };
    let run = idempotency.run_with_output(&webhooks.db, fingerprint, async || Ok(effect));
    let (response, rotated) = run.await?;
    if rotated.is_some() {
        security_event!("secret_rotated", webhook = %id, "the secret of a webhook was rotated");
    }
    Ok(response)
}
