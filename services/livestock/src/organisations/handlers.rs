//! The operations on suspended organisations.

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, get, post};
use common::wire::{ActionResult, Reason};
use common::{
    Admin, Authorized, Body, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, ListParams,
    Query, Sorting, organisation_id_of_path, security_event,
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_actix_web::service_config::ServiceConfig;

use crate::organisations::store::{self, SuspendedOrganisation};
use crate::{Livestock, examples};

/// Registers the routes.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(list).service(suspend).service(reinstate);
}

/// Query parameters of the list of organisations.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct OrganisationParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// `suspended`: those that are suspended.
    #[serde(rename = "f:status")]
    #[param(required = true, inline, example = "suspended")]
    status: Suspended,
}

/// The only value of the filter.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Suspended {
    #[default]
    Suspended,
}

/// List suspended organisations
///
/// The last one first.
#[utoipa::path(operation_id = "list_organisations", tag = "organisations", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    params(ListParams, OrganisationParams),
    responses((status = 200, body = [SuspendedOrganisation]), ErrorResponses))]
#[get("/organisations")]
async fn list(
    _: Authorized<Admin>,
    query: Query<OrganisationParams>,
    request: HttpRequest,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (page, count) =
        query.check(|p, errors| (p.page.parse(&Sorting::newest_first(), errors), p.page.count))?;
    let read_page = page.clone();
    let found = service.db.read(move |c| store::list(c, &read_page, count)).await?;
    Ok(found.response(&request, &service.public_url, &page))
}

/// Why an organisation is suspended.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = SuspendOrganisation, example = json!({ "reason": "Several buyers reported that the animals do not exist." }))]
struct SuspendForm {
    /// For administrators; the organisation does not see it.
    #[schema(required = true)]
    reason: Reason,
}

/// Suspend an organisation
///
/// Meanwhile its active listings are in no search, map, feed or public page, nobody else reads them, and it cannot
/// create or publish listings or enquire (403, `reason` `suspended`). Suspending it again changes nothing.
#[utoipa::path(operation_id = "suspend_organisation", tag = "organisations", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    params(("id" = String, Path, description = "The organisation's id", example = json!(examples::ORGANISATION))),
    request_body = SuspendForm, responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/organisations/{id}/suspend")]
async fn suspend(
    _: Authorized<Admin>,
    path: Path<String>,
    idempotency: Idempotency,
    body: Body<SuspendForm>,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let id = organisation_id_of_path(path.into_inner())?;
    let organisation = id.clone();
    let run = idempotency.run_with_output(&service.db, fingerprint, async || {
        Ok(move |c: &mut _| {
            let changed = store::suspend(c, &id, &form.reason)?;
            Ok((JsonResponse::json(&ActionResult::new("The organisation is suspended."))?, changed))
        })
    });
    let (response, changed) = run.await?;
    if changed == Some(true) {
        security_event!("organisation_suspended", organisation, "an organisation was suspended");
    }
    Ok(response)
}

/// End the suspension of an organisation
///
/// Its active listings are found again. Ending what is no suspension changes nothing.
#[utoipa::path(operation_id = "reinstate_organisation", tag = "organisations", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    params(("id" = String, Path, description = "The organisation's id", example = json!(examples::ORGANISATION))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/organisations/{id}/reinstate")]
async fn reinstate(
    _: Authorized<Admin>,
    path: Path<String>,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    service: Data<Livestock>,
) -> Result<JsonResponse, Error> {
    let id = organisation_id_of_path(path.into_inner())?;
    let organisation = id.clone();
    let run = idempotency.run_with_output(&service.db, fingerprint, async || {
        Ok(move |c: &mut _| {
            let changed = store::reinstate(c, &id)?;
            Ok((JsonResponse::json(&ActionResult::new("The organisation is not suspended."))?, changed))
        })
    });
    let (response, changed) = run.await?;
    if changed == Some(true) {
        security_event!("organisation_reinstated", organisation, "an organisation was reinstated");
    }
    Ok(response)
}
