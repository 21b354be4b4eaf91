//! Reading the delivery log of a load.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};

use crate::notifications::model::Notification;
use crate::notifications::store;
use crate::{Logistics, loads};

/// List notifications of a load
///
/// Returns the newest 1,000 notifications sent to the load's drivers and carriers, newest first.
#[utoipa::path(operation_id = "list_notifications_of_load", tag = "notifications", security(("bearer" = [])),
    params(("id" = String, Path, description = "Id of the load")),
    responses((status = 200, body = [Notification]), ErrorResponses))]
#[get("/loads/{id}/notifications")]
pub(super) async fn list(caller: Caller, path: PathId, app: Data<Logistics>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let notifications = app.db.read(move |c| {
        loads::find_own(c, &caller, id)?;
        store::list(c, id)
    });
    JsonResponse::json(&notifications.await?)
}
