//! Reading the delivery log of a load.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};

use super::model::Notification;
use super::store;
use crate::{Logistics, loads};

/// Notifications of a load
///
/// What was sent to drivers and carriers of it, newest first, the newest 1,000.
#[utoipa::path(operation_id = "list_notifications_of_load", tag = "notifications", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id")),
    responses((status = 200, body = [Notification]), ErrorResponses))]
#[get("/loads/{id}/notifications")]
pub(super) async fn list(caller: Caller, path: PathId, app: Data<Logistics>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let listed = app.db.read(move |c| {
        loads::find_own(c, &caller, id)?;
        store::list(c, id)
    });
    JsonResponse::json(&listed.await?)
}
