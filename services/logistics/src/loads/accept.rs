//! Accepting a load that its carrier entered.

use actix_web::post;
use actix_web::web::Data;
use common::wire::ActionResult;
use common::{Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId};

use super::store;
use crate::Logistics;

/// Accept a load
///
/// A load that its carrier entered for an organiser is in the organiser's completed export once the organiser accepted
/// it. Accepting it again, or a load that needs no acceptance, succeeds and changes nothing.
#[utoipa::path(operation_id = "accept_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id")),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/loads/{id}/accept")]
pub(super) async fn accept(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let effect = move |c: &mut _| {
        store::accept(c, &caller, id)?;
        JsonResponse::json(&ActionResult::new("The load is accepted."))
    };
    idempotency.run(&app.db, fingerprint, async || Ok(effect)).await
}
