//! The operations on organisations, and the block list of the caller's.

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, delete, get, put};
use common::validation::{Code, ValidationErrors};
use common::wire::ActionResult;
use common::{Authorized, Caller, Error, ErrorResponses, JsonResponse, ListParams, Member, Query, Sorting};
use database::AnyConnection;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_actix_web::service_config::ServiceConfig;

use crate::organisations::model::{BlockedOrganisation, parse_id};
use crate::organisations::store;
use crate::{Logistics, examples};

/// Registers the routes.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(list).service(block).service(unblock);
}

/// Query parameters of the list of organisations.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct OrganisationParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// `true`: those that the caller's organisation has blocked.
    #[serde(rename = "f:blocked")]
    #[param(required = true, inline, example = "true")]
    blocked: Blocked,
}

/// The only value of the filter.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Blocked {
    #[default]
    True,
}

/// List blocked organisations
///
/// Those that the caller's organisation has blocked, the last one first.
#[utoipa::path(operation_id = "list_organisations", tag = "organisations", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(ListParams, OrganisationParams),
    responses((status = 200, body = [BlockedOrganisation]), ErrorResponses))]
#[get("/organisations")]
async fn list(
    caller: Authorized<Member>,
    query: Query<OrganisationParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (page, count) =
        query.check(|p, errors| (p.page.parse(&Sorting::newest_first(), errors), p.page.count))?;
    let (own, read_page) = (caller.organisation_id_or_empty().to_owned(), page.clone());
    let found = app.db.read(move |c| store::list(c, &own, &read_page, count)).await?;
    Ok(found.response(&request, &app.public_url, &page))
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
    let id = parse_id(path.into_inner())?;
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
    let id = parse_id(path.into_inner())?;
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
