//! `GET /v1/loads/{id}/notifications`.

use actix_web::get;
use actix_web::web::Data;
use common::{Caller, Error, ErrorResponses, JsonResponse, PathId};

use crate::Logistics;
use crate::examples;
use crate::loads::store;
use crate::notifications::{self, Notification};

/// List notifications of a load
///
/// Returns the newest 1,000 notifications sent to the load's drivers and carriers, newest first.
#[utoipa::path(operation_id = "list_notifications_of_load", tag = "notifications", security(("bearer" = [])),
    params(("id" = String, Path, description = "Id of the load", example = json!(examples::COMPLETED_LOAD))),
    responses((status = 200, body = [Notification]), ErrorResponses))]
#[get("/loads/{id}/notifications")]
pub(super) async fn list(caller: Caller, path: PathId, app: Data<Logistics>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let listed = app.db.read(move |c| {
        let load = store::find_own(c, &caller, id)?;
        let since = store::carried_since(c, &load, &caller)?;
        notifications::list(c, &caller, id, since.map(|since| since.at))
    });
    JsonResponse::json(&listed.await?)
}
