//! `GET /v1/webhooks/{id}`.

use actix_web::get;
use actix_web::web::Data;
use common::{Authorized, Error, ErrorResponses, MemberOrAdmin, PathId, Revised};

use crate::Webhooks;
use crate::examples;
use crate::webhook::{Webhook, store};

/// Get a webhook
///
/// Without its secret.
#[utoipa::path(operation_id = "find_webhook", tag = "webhooks", security(("bearer" = [])),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK)),
        ("If-None-Match" = Option<String>, Header, description = "Revisions that the client knows")),
    responses((status = 200, body = Webhook, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 304, description = "The client knows this revision."), ErrorResponses))]
#[get("/webhooks/{id}")]
pub(super) async fn find(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    webhooks: Data<Webhooks>,
) -> Result<Revised, Error> {
    let (id, caller) = (path.id()?, caller.clone());
    webhooks.db.read(move |c| store::find(c, &caller, id)).await
}
