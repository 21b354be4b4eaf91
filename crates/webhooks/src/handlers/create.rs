//! `POST /v1/webhooks`.

use actix_web::post;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::{Authorized, Body, Error, ErrorResponses, Idempotency, JsonResponse, Member, Policy};
use database::{AnyConnection, Id};

use crate::Webhooks;
use crate::sending::generate_secret;
use crate::webhook::{NewWebhook, Webhook, WebhookForm, parse_events, parsed_url, store, validate_form};

/// Create a webhook
///
/// The response shows the secret that signs deliveries; a replay for the same idempotency key does not. An organisation
/// can have 20 webhooks.
#[utoipa::path(operation_id = "create_webhook", tag = "webhooks", security(("bearer" = [])),
    request_body = WebhookForm, responses((status = 200, body = Webhook), ErrorResponses))]
#[post("/webhooks")]
pub(super) async fn create(
    caller: Authorized<Member>,
    idempotency: Idempotency,
    body: Body<WebhookForm>,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let allow_private = webhooks.allow_private;
    let rules =
        |form: &WebhookForm, errors: &mut ValidationErrors| validate_form(form, allow_private, errors);
    let (form, fingerprint) = body.check(rules)?;
    let organisation = caller.organisation.as_ref().ok_or(Error::Forbidden(Member::DENIED_MESSAGE))?;
    let new = NewWebhook {
        id: Id::new(),
        organisation_id: organisation.id.clone(),
        url: parsed_url(&form.url),
        events: parse_events(&form.events),
        description: form.description.map(|text| text.0).filter(|text| !text.is_empty()),
        secret: generate_secret().map_err(Error::Internal)?,
    };
    let effect = move |c: &mut AnyConnection| store::create(c, &new)?.response_with_secret();
    idempotency.run(&webhooks.db, fingerprint, async || Ok(effect)).await
}
