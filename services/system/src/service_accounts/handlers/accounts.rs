//! The operations on one service account and on their list.

use actix_web::web::Data;
use actix_web::{HttpRequest, delete, get, patch, post};
use common::wire::ActionResult;
use common::{
    Authorized, Body, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, ListParams, MergePatch,
    PathId, Policy, Query, Role, Sorting, security_event,
};
use database::{AnyConnection, Id};

use crate::service_accounts::form::{
    ServiceAccountForm, ServiceAccountPatch, distinct, validate_form, validate_patch,
};
use crate::service_accounts::model::{Creator, Manager, Reader, ServiceAccount, generate_secret};
use crate::service_accounts::store::{self, NewAccount};
use crate::{System, examples};

/// Create a service account
///
/// The response shows the secret; a replay for the same idempotency key does not. An organisation can have 20 service
/// accounts, including those that have expired.
#[utoipa::path(operation_id = "create_service_account", tag = "service accounts", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    request_body = ServiceAccountForm, responses((status = 200, body = ServiceAccount), ErrorResponses))]
#[post("/service-accounts")]
pub(super) async fn create(
    caller: Authorized<Creator>,
    idempotency: Idempotency,
    body: Body<ServiceAccountForm>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(validate_form)?;
    let organisation = caller.organisation.clone().ok_or(Error::Forbidden(Creator::DENIED_MESSAGE))?;
    let new = NewAccount {
        id: Id::new(),
        organisation,
        roles: distinct(&form.roles),
        expires_at: form.expires_at(),
        name: form.name.0,
        secret: generate_secret()?,
    };
    let (id, roles) = (new.id, role_names(&new.roles));
    let effect =
        move |c: &mut AnyConnection| Ok((store::create(c, &new)?.response_with_secret(&new.secret)?, ()));
    let run = idempotency.run_with_output(&system.db, fingerprint, async || Ok(effect));
    let (response, created) = run.await?;
    if created.is_some() {
        security_event!("service_account_created", account = %id, roles, "a service account was created");
    }
    Ok(response)
}

/// List service accounts
///
/// Those of the caller's organisation, for `admin` all, newest first, without their secrets.
#[utoipa::path(operation_id = "list_service_accounts", tag = "service accounts", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(ListParams), responses((status = 200, body = [ServiceAccount]), ErrorResponses))]
#[get("/service-accounts")]
pub(super) async fn list(
    caller: Authorized<Reader>,
    query: Query<ListParams>,
    request: HttpRequest,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (page, count) = query
        .check(|parameters, errors| (parameters.parse(&Sorting::newest_first(), errors), parameters.count))?;
    let (caller, read_page) = (caller.clone(), page.clone());
    let found = system.db.read(move |c| store::list(c, &caller, &read_page, count)).await?;
    Ok(found.response(&request, &system.public_url, &page))
}

/// Get a service account
///
/// Without its secret.
#[utoipa::path(operation_id = "find_service_account", tag = "service accounts", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(("id" = String, Path, description = "The account's id", example = json!(examples::SERVICE_ACCOUNT))),
    responses((status = 200, body = ServiceAccount), ErrorResponses))]
#[get("/service-accounts/{id}")]
pub(super) async fn find(
    caller: Authorized<Manager>,
    path: PathId,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (id, caller) = (path.id()?, caller.clone());
    JsonResponse::json(&system.db.read(move |c| store::find(c, &caller, id)).await?)
}

/// Edit a service account
///
/// A merge patch (RFC 7396) of its name and roles. Tokens that it has keep the old ones until they expire, at most ten
/// minutes.
#[utoipa::path(operation_id = "update_service_account", tag = "service accounts", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The account's id", example = json!(examples::SERVICE_ACCOUNT))),
    request_body(content((ServiceAccountPatch = "application/merge-patch+json"),
        (ServiceAccountPatch = "application/json"))),
    responses((status = 200, body = ServiceAccount), ErrorResponses))]
#[patch("/service-accounts/{id}")]
pub(super) async fn update(
    caller: Authorized<Manager>,
    path: PathId,
    body: Body<MergePatch<ServiceAccountPatch>>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (requested, _) = body.check(validate_patch)?;
    let (id, caller) = (path.id()?, caller.clone());
    let removes_roles = requested.removes("roles");
    let ServiceAccountPatch { name, roles } = requested.members;
    let roles = if removes_roles { Some(Vec::new()) } else { roles.as_deref().map(distinct) };
    let effect = move |c: &mut _| store::update(c, &caller, id, name.as_deref(), roles.as_deref());
    let account = system.db.write(effect).await?;
    let roles = role_names(&account.roles);
    security_event!("service_account_changed", account = %id, roles, "a service account was edited");
    JsonResponse::json(&account)
}

/// Delete a service account
///
/// It gets no more tokens. Those that it has are valid until they expire, at most ten minutes.
#[utoipa::path(operation_id = "delete_service_account", tag = "service accounts", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The account's id",
        example = json!(examples::SERVICE_ACCOUNT_TO_DELETE))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[delete("/service-accounts/{id}")]
pub(super) async fn delete(
    caller: Authorized<Manager>,
    path: PathId,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (id, caller) = (path.id()?, caller.clone());
    system.db.write(move |c| store::delete(c, &caller, id)).await?;
    security_event!("service_account_deleted", account = %id, "a service account was deleted");
    JsonResponse::json(&ActionResult::new("The service account is deleted."))
}

/// Rotate the secret of a service account
///
/// The response shows the new secret; a replay for the same idempotency key does not. The previous one works for
/// another 24 hours.
#[utoipa::path(operation_id = "rotate_service_account_secret", tag = "service accounts", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    params(("id" = String, Path, description = "The account's id", example = json!(examples::SERVICE_ACCOUNT))),
    responses((status = 200, body = ServiceAccount), ErrorResponses))]
#[post("/service-accounts/{id}/rotate-secret")]
pub(super) async fn rotate_secret(
    caller: Authorized<Manager>,
    path: PathId,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (id, caller) = (path.id()?, caller.clone());
    let secret = generate_secret()?;
    let effect = move |c: &mut AnyConnection| {
        Ok((store::rotate_secret(c, &caller, id, &secret)?.response_with_secret(&secret)?, ()))
    };
    let run = idempotency.run_with_output(&system.db, fingerprint, async || Ok(effect));
    let (response, rotated) = run.await?;
    if rotated.is_some() {
        security_event!("secret_rotated", account = %id, "the secret of a service account was rotated");
    }
    Ok(response)
}

/// Returns the names of roles for the security log; empty if the account has all rights of its organisation.
fn role_names(roles: &[Role]) -> String {
    roles.iter().map(|role| role.name()).collect::<Vec<_>>().join(" ")
}
