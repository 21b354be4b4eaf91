//! The operations on notifications.

use actix_web::web::Data;
use actix_web::{HttpRequest, get, post};
use common::validation::ValidationErrors;
use common::wire::{ActionResult, QueryText};
use common::{
    Admin, Authorized, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, ListParams,
    PageRequest, PathId, Query, Sorting, text_choice,
};
use database::{AnyConnection, Id};
use outbox::Status;
use serde::Deserialize;
use strum::VariantNames;
use utoipa::IntoParams;
use utoipa::openapi::schema::Object;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::notifications::Notification;
use crate::notifications::model::{Event, redelivery_message};
use crate::notifications::store::{self, NotificationSearch};
use crate::{Logistics, examples};

/// Registers the routes.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(list).service(redeliver);
}

/// Query parameters of the list of notifications.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct NotificationParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// The delivery status.
    #[serde(rename = "f:status")]
    #[param(schema_with = status)]
    status: Option<String>,
    /// The id of the load.
    #[serde(rename = "f:loadId")]
    #[param(example = json!(examples::COMPLETED_LOAD))]
    load_id: Option<QueryText>,
    /// The reported event.
    #[serde(rename = "f:event")]
    #[param(schema_with = event)]
    event: Option<String>,
}

fn status() -> Object {
    text_choice(Status::VARIANTS)
}

fn event() -> Object {
    text_choice(Event::VARIANTS)
}

impl NotificationParams {
    fn parse(&self, errors: &mut ValidationErrors) -> (NotificationSearch, PageRequest, bool) {
        let search = NotificationSearch {
            load_id: self.load_id.as_ref().map(|id| id.0.clone()),
            event: self.event.clone(),
            status: self.status.clone(),
        };
        (search, self.page.parse(&Sorting::newest_first(), errors), self.page.count)
    }
}

/// List notifications
///
/// Those of the loads of the caller's organisation, for `admin` all, newest first.
#[utoipa::path(operation_id = "list_notifications", tag = "notifications", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(ListParams, NotificationParams),
    responses((status = 200, body = [Notification]), ErrorResponses))]
#[get("/notifications")]
async fn list(
    caller: Caller,
    query: Query<NotificationParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (search, page, count) = query.check(NotificationParams::parse)?;
    let read_page = page.clone();
    let found = app.db.read(move |c| store::search(c, &caller, &search, &read_page, count)).await?;
    Ok(found.response(&request, &app.public_url, &page))
}

/// Redeliver a notification
///
/// Delivers the notification again with the same `webhook-id` and ten new attempts, whatever its status.
#[utoipa::path(operation_id = "redeliver_notification", tag = "notifications", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    params(("loadId" = String, Path, description = "Id of the load", example = json!(examples::COMPLETED_LOAD)),
        ("id" = String, Path, description = "Id of the notification", example = json!(examples::NOTIFICATION))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/loads/{loadId}/notifications/{id}/redeliver")]
async fn redeliver(
    _admin: Authorized<Admin>,
    path: PathId,
    idempotency: Idempotency,
    request: HttpRequest,
    fingerprint: Fingerprint,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let load_id = request.match_info().get("loadId").and_then(Id::parse).ok_or(Error::NotFound)?;
    let id = path.id()?;
    let effect = move |c: &mut AnyConnection| {
        let previous_status = store::redeliver(c, Some(load_id), id)?.ok_or(Error::NotFound)?;
        JsonResponse::json(&ActionResult::created(redelivery_message(&previous_status), id))
    };
    let response = idempotency.run(&app.db, fingerprint, async || Ok(effect)).await?;
    app.notifications.wake();
    Ok(response)
}
