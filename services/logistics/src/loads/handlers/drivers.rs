//! `GET /v1/loads/{id}/drivers` and `DELETE /v1/loads/{id}/drivers/{driverId}`.

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, delete, get};
use common::wire::{ActionResult, TextForm};
use common::{
    Caller, Error, ErrorResponses, JsonResponse, OffsetParams, PathId, Precondition, Query, check_path_text,
};

use crate::Logistics;
use crate::examples;
use crate::loads::history;
use crate::loads::store::{self, Driver};

/// List the drivers of a load
///
/// Returns the drivers to whom the load was sent and who were not revoked, in the order of the last sending.
#[utoipa::path(operation_id = "list_load_drivers", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD)), OffsetParams),
    responses((status = 200, body = [Driver]), ErrorResponses))]
#[get("/loads/{id}/drivers")]
pub(super) async fn list(
    caller: Caller,
    path: PathId,
    query: Query<OffsetParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let parameters = query.check(|parameters, _| parameters.clone())?;
    let (id, page) = (path.id()?, parameters.page());
    let read = move |c: &mut _| {
        let load = store::find_own(c, &caller, id)?;
        let since = store::carried_since(c, &load, &caller)?;
        store::list_drivers(c, &load, since.map(|since| since.at), &page)
    };
    let (drivers, total) = app.db.read(read).await?;
    parameters.response(&request, &app.public_url, drivers, total)
}

/// Revoke a driver
///
/// The driver can then neither read the load nor prove its delivery. Notifications of the driver that are still pending
/// are dropped.
#[utoipa::path(operation_id = "revoke_load_driver", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD)),
        ("driverId" = String, Path, description = "Claim `sub` of the driver's token",
            example = json!(examples::DRIVER)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    responses((status = 200, body = ActionResult),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[delete("/loads/{id}/drivers/{driverId}")]
pub(super) async fn revoke(
    caller: Caller,
    path: PathId,
    names: Path<(String, String)>,
    condition: Precondition,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (id, driver) = (path.id()?, check_path_text(names.into_inner().1)?);
    let effect = move |c: &mut _| {
        let mut stored = store::find_own_stored(c, &caller, id)?;
        let since = store::carried_since(c, &stored.load, &caller)?;
        let sent_at = since.map(|since| since.at);
        // Ids are stored in this form. Earlier releases stored some as they were written.
        let normalized = TextForm::Id.normalize(&driver);
        let removed = if store::remove_driver(c, id, &normalized, sent_at)? {
            &*normalized
        } else if *normalized != *driver && store::remove_driver(c, id, &driver, sent_at)? {
            &*driver
        } else {
            return Err(Error::NotFound);
        };
        let is_earlier = match since {
            Some(since) => history::senders(c, id)?.get(removed).is_some_and(|by| since.is_after_any(by)),
            None => false,
        };
        if is_earlier {
            return Err(Error::Forbidden(
                "The organiser sent the load to this driver too, and alone can revoke it.",
            ));
        }
        condition.check(stored.load.revision)?;
        store::revoke_driver(c, &mut stored.load, removed, &caller)
    };
    app.db.write(effect).await?;
    app.webhooks.wake();
    JsonResponse::json(&ActionResult::new("The driver can no longer read the load or prove its delivery."))
}
