//! What became of a listing, and by whom: for those who look after the market.

mod store;

use actix_web::get;
use actix_web::web::Data;
use common::{Admin, Authorized, Error, ErrorResponses, JsonResponse, PathId};
use database::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::model::Status;
use crate::Livestock;

/// A change of a listing's status (contract, section 6, "Shapes of additions").
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ListingEvent)]
pub struct Event {
    /// Absent: it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Status, required = false)]
    pub from: Option<String>,
    #[schema(value_type = Status)]
    pub to: String,
    /// What was given for closing it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// Who did it.
    pub user_id: String,
    #[serde(rename = "atUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// Events of a listing
///
/// Every change of its status, oldest first.
#[utoipa::path(operation_id = "list_events_of_listing", tag = "listings", security(("bearer" = [])),
    params(("id" = String, Path, description = "The listing's id")),
    responses((status = 200, body = [Event]), ErrorResponses))]
#[get("/listings/{id}/events")]
pub(super) async fn list(
    admin: Authorized<Admin>,
    path: PathId,
    app: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (id, admin) = (path.id()?, admin.clone());
    let listed = app.db.read(move |c| {
        super::store::find(c, &admin, id)?;
        store::list(c, id)
    });
    JsonResponse::json(&listed.await?)
}
