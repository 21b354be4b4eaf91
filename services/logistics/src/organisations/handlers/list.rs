//! `GET /v1/organisations`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::{Authorized, Error, ErrorResponses, JsonResponse, ListParams, Member, Query};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::Logistics;
use crate::organisations::model::{BlockedOrganisation, order};
use crate::organisations::store;

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
    params(ListParams, OrganisationParams),
    responses((status = 200, body = [BlockedOrganisation]), ErrorResponses))]
#[get("/organisations")]
pub(super) async fn list(
    caller: Authorized<Member>,
    query: Query<OrganisationParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (page, count) = query.check(|p, errors| (p.page.parse(&order(), errors), p.page.count))?;
    let (own, read_page) = (caller.organisation_id_or_empty().to_owned(), page.clone());
    let found = app.db.read(move |c| store::list(c, &own, &read_page, count)).await?;
    Ok(found.response(&request, &app.public_url, &page))
}
