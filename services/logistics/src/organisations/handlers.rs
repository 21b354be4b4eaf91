//! The operations on the block list of the caller's organisation. `loads/handlers/address_book.rs` lists it.

use actix_web::web::{Data, Path};
use actix_web::{delete, put};
use common::validation::{Code, ValidationErrors};
use common::wire::ActionResult;
use common::{Authorized, Caller, Error, ErrorResponses, JsonResponse, Member, organisation_id_of_path};
use database::AnyConnection;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::organisations::store;
use crate::{Logistics, examples};

/// Registers the routes.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(block).service(unblock);
}

/// Block an organisation
///
/// It can then not name the caller's organisation as organiser or carrier of new loads and in changes (403, `reason`
/// `blocked`). Loads that exist stay. Blocking it again changes nothing.
#[utoipa::path(operation_id = "block_organisation", tag = "organisations", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The id of the organisation to block",
        example = json!(examples::BLOCKED_ORGANISATION))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[put("/organisations/{id}/block")]
async fn block(
    caller: Authorized<Member>,
    path: Path<String>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let id = organisation_id_of_path(path.into_inner())?;
    if caller.acts_for(&id) {
        let message = "is your own organisation, which cannot be blocked";
        return Err(ValidationErrors::one("id", Code::Inconsistent, message).into());
    }
    change(&caller, id, &app, store::block, "The organisation is blocked.").await
}

/// End a block
///
/// Ending what is no block changes nothing.
#[utoipa::path(operation_id = "unblock_organisation", tag = "organisations", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The id of the blocked organisation",
        example = json!(examples::BLOCKED_ORGANISATION))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[delete("/organisations/{id}/block")]
async fn unblock(
    caller: Authorized<Member>,
    path: Path<String>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let id = organisation_id_of_path(path.into_inner())?;
    change(&caller, id, &app, store::unblock, "The organisation is not blocked.").await
}

/// Changes the block list of the caller's organisation.
async fn change(
    caller: &Caller,
    id: String,
    app: &Logistics,
    change: fn(&mut AnyConnection, &str, &str) -> Result<(), Error>,
    message: &str,
) -> Result<JsonResponse, Error> {
    let own = caller.organisation_id_or_empty().to_owned();
    app.db.write(move |c| change(c, &own, &id)).await?;
    JsonResponse::json(&ActionResult::new(message))
}
