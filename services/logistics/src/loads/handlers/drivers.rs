//! `GET /v1/loads/{id}/drivers` and `DELETE /v1/loads/{id}/drivers/{driverId}`.

use actix_web::web::{Data, Path};
use actix_web::{delete, get};
use common::wire::{ActionResult, TextForm};
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId, check_path_text};
use serde_json::json;

use crate::Logistics;
use crate::examples;
use crate::loads::history::{Change, Changes, EventType, NewEvent};
use crate::loads::store::{self, Driver};
use crate::notifications;

/// List the drivers of a load
///
/// Returns the drivers to whom the load was sent and who were not revoked.
#[utoipa::path(operation_id = "list_load_drivers", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD))),
    responses((status = 200, body = [Driver]), ErrorResponses))]
#[get("/loads/{id}/drivers")]
pub(super) async fn list(caller: Caller, path: PathId, app: Data<Logistics>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let read = move |c: &mut _| {
        let load = store::find_own(c, &caller, id)?;
        store::list_drivers(c, &load)
    };
    JsonResponse::json(&app.db.read(read).await?)
}

/// Revoke a driver
///
/// The driver can then neither read the load nor prove its delivery. Notifications of the driver that are still pending
/// are dropped.
#[utoipa::path(operation_id = "revoke_load_driver", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD)),
        ("driverId" = String, Path, description = "Claim `sub` of the driver's token",
            example = json!(examples::DRIVER))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[delete("/loads/{id}/drivers/{driverId}")]
pub(super) async fn revoke(
    caller: Caller,
    path: PathId,
    names: Path<(String, String)>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (id, driver) = (path.id()?, check_path_text(names.into_inner().1)?);
    let effect = move |c: &mut _| {
        store::find_own(c, &caller, id)?;
        // Ids are stored in this form. Earlier releases stored some as they were written.
        let normalized = TextForm::Id.normalize(&driver);
        let removed = if store::remove_driver(c, id, &normalized)? {
            &*normalized
        } else if *normalized != *driver && store::remove_driver(c, id, &driver)? {
            &*driver
        } else {
            return Err(Error::NotFound);
        };
        notifications::drop_pending_of_driver(c, id, removed)?;
        let change = Change { from: Some(json!(removed)), to: None };
        let changes = Changes::from([("driverId", change)]);
        store::record_change(c, &NewEvent { changes, ..NewEvent::new(id, EventType::DriverRevoked, &caller) })
    };
    app.db.write(effect).await?;
    JsonResponse::json(&ActionResult::new("The driver can no longer read the load or prove its delivery."))
}
