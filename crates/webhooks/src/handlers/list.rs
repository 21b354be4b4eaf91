//! `GET /v1/webhooks`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get};
use common::{Caller, Error, ErrorResponses, JsonResponse, ListParams, Query};

use crate::Webhooks;
use crate::webhook::{Webhook, order, store};

/// List webhooks
///
/// Those of the caller's organisation, for `admin` all, newest first.
#[utoipa::path(operation_id = "list_webhooks", tag = "webhooks", security(("bearer" = [])), params(ListParams),
    responses((status = 200, body = [Webhook]), ErrorResponses))]
#[get("/webhooks")]
pub(super) async fn list(
    caller: Caller,
    query: Query<ListParams>,
    request: HttpRequest,
    webhooks: Data<Webhooks>,
) -> Result<JsonResponse, Error> {
    let (page, count) =
        query.check(|parameters, errors| (parameters.parse(&order(), errors), parameters.count))?;
    let read_page = page.clone();
    let found = webhooks.db.read(move |c| store::list(c, &caller, &read_page, count)).await?;
    Ok(found.response(&request, &webhooks.public_url, &page))
}
