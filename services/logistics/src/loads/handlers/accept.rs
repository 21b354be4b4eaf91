//! `POST /v1/loads/{id}/accept`.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId, Precondition};

use crate::Logistics;
use crate::examples;
use crate::loads::store;

/// Accept a load
///
/// A load that a carrier entered for an organiser is not part of that organiser's completed export until the organiser
/// accepts it. Accepting again, or accepting a load that needs no acceptance, succeeds and changes nothing.
#[utoipa::path(operation_id = "accept_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD_TO_ACCEPT)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    responses((status = 200, body = ActionResult),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/loads/{id}/accept")]
pub(super) async fn accept(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    condition: Precondition,
    fingerprint: Fingerprint,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let effect = move |c: &mut _| {
        store::accept(c, &caller, id, &condition)?;
        JsonResponse::json(&ActionResult::new("The load is accepted."))
    };
    idempotency.run(&app.db, fingerprint, async || Ok(effect)).await
}
