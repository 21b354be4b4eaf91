//! `POST /v1/webhooks/{id}/rotate-secret`.

use actix_web::post;
use actix_web::web::Data;
use common::{
    Authorized, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, MemberOrAdmin, PathId,
};
use database::AnyConnection;

use crate::Webhooks;
use crate::examples;
use crate::sending::generate_secret;
use crate::webhook::{Webhook, store};

/// Rotate the secret of a webhook
///
/// The response shows the new secret; a replay for the same idempotency key does not. For 24 hours, deliveries are
/// signed by the previous one as well.
#[utoipa::path(operation_id = "rotate_webhook_secret", tag = "webhooks", security(("bearer" = [])),
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
    let effect =
        move |c: &mut AnyConnection| store::rotate_secret(c, &caller, id, &secret)?.response_with_secret();
    idempotency.run(&webhooks.db, fingerprint, async || Ok(effect)).await
}
