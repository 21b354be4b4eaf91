//! `GET /v1/webhooks/{id}/deliveries`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::validation::ValidationErrors;
use common::{
    Authorized, Error, ErrorResponses, JsonResponse, ListParams, MemberOrAdmin, PageRequest, PathId, Query,
    text_choice,
};
use outbox::Status;
use serde::Deserialize;
use strum::VariantNames;
use utoipa::IntoParams;
use utoipa::openapi::schema::Object;

use crate::Webhooks;
use crate::delivery::{WebhookDelivery, store};
use crate::examples;
use crate::webhook::{self, order};

/// Query parameters of the deliveries of a webhook.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct DeliveryParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// The delivery status.
    #[serde(rename = "f:status")]
    #[param(schema_with = status)]
    status: Option<String>,
}

fn status() -> Object {
    text_choice(Status::VARIANTS)
}

impl DeliveryParams {
    fn parse(&self, errors: &mut ValidationErrors) -> (Option<String>, PageRequest, bool) {
        (self.status.clone(), self.page.parse(&order(), errors), self.page.count)
    }
}

/// List the deliveries of a webhook
///
/// Newest first.
#[utoipa::path(operation_id = "list_webhook_deliveries", tag = "webhooks", security(("bearer" = [])),
    params(("id" = String, Path, description = "The webhook's id", example = json!(examples::WEBHOOK)),
        ListParams, DeliveryParams),
    responses((status = 200, body = [WebhookDelivery]), ErrorResponses))]
#[get("/webhooks/{id}/deliveries")]
pub(super) async fn list_deliveries(
    caller: Authorized<MemberOrAdmin>,
    path: PathId,
    query: Query<DeliveryParams>,
    request: HttpRequest,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (status, page, count) = query.check(DeliveryParams::parse)?;
    let (id, caller, read_page) = (path.id()?, caller.clone(), page.clone());
    let read = move |c: &mut _| {
        webhook::store::check_managed(c, &caller, id)?;
        store::list(c, id, status.as_deref(), &read_page, count)
    };
    let found = webhooks.db.read(read).await?;
    Ok(found.response(&request, &webhooks.public_url, &page))
}
