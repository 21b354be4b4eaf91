//! `GET /v1/listings/{id}/reports`.

use actix_web::get;
use actix_web::web::Data;
use common::{Admin, Authorized, Error, ErrorResponses, JsonResponse, PathId};

use crate::Livestock;
use crate::examples;
use crate::reports::model::Report;
use crate::reports::store;

/// Reports of a listing
///
/// The newest 1,000 reports, newest first.
#[utoipa::path(operation_id = "list_reports_of_listing", tag = "reports", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id", example = json!(examples::FOREIGN_LISTING))),
    responses((status = 200, body = [Report]), ErrorResponses))]
#[get("/listings/{id}/reports")]
pub(super) async fn list_reports_of_listing(
    admin: Authorized<Admin>,
    path: PathId,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (id, admin) = (path.id()?, admin.clone());
    JsonResponse::json(&service.db.read(move |c| store::list(c, &admin, id)).await?)
}
