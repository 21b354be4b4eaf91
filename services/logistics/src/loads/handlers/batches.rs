//! `GET /v1/loads/batches` and `POST /v1/loads/batches/{id}/cancel`.

use actix_web::web::Data;
use actix_web::{HttpRequest, get, post};
use common::wire::ActionResult;
use common::{
    Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, ListParams, PathId, Query, Sorting,
};
use database::{AnyConnection, Id};
use serde::Serialize;
use utoipa::ToSchema;

use crate::loads::cancel::cancel_many;
use crate::loads::form::CancelForm;
use crate::loads::store::{self, StoredBatch};
use crate::{Logistics, examples};

/// List batches
///
/// The batches of loads that stored something, newest first: those of the caller's organisation, or for `admin` of all.
/// The newest 10,000 of an organisation are kept.
#[utoipa::path(operation_id = "list_load_batches", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(ListParams),
    responses((status = 200, body = [StoredBatch]), ErrorResponses))]
#[get("/loads/batches")]
pub(super) async fn list(
    caller: Caller,
    query: Query<ListParams>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (page, count) = query.check(|p, errors| (p.parse(&Sorting::newest_first(), errors), p.count))?;
    let (caller, read_page) = (caller, page.clone());
    let found = app.db.read(move |c| store::list_batches(c, &caller, &read_page, count)).await?;
    Ok(found.response(&request, &app.public_url, &page))
}

/// What became of the loads of a batch.
#[derive(Debug, Serialize, ToSchema)]
struct BatchCancellation {
    #[serde(flatten)]
    result: ActionResult,
    /// The number of loads that were cancelled.
    count: usize,
    /// The number of the other loads that the batch created.
    skipped: usize,
}

/// The number of loads that one transaction cancels, which takes about 50 ms.
const LOADS_PER_TRANSACTION: i64 = 200;

/// Cancel the loads of a batch
///
/// Cancels the loads that the batch created, that are upcoming, and that the caller may cancel one by one; the others
/// are skipped. Other requests run meanwhile. If the request fails before its end, some of the loads are cancelled:
/// repeat it. Cancelling again succeeds and changes nothing.
#[utoipa::path(operation_id = "cancel_load_batch", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The id of the batch", example = json!(examples::BATCH))),
    request_body = CancelForm, extensions(("x-roles" = json!([])), ("x-optional-body" = json!(true))),
    responses((status = 200, body = BatchCancellation), ErrorResponses))]
#[post("/loads/batches/{id}/cancel")]
pub(super) async fn cancel(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    body: Body<CancelForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let (id, reason) = (path.id()?, form.reason.map(|reason| reason.0));
    let response = idempotency.run_external(&app.db, fingerprint, async || {
        let reader = caller.clone();
        app.db.read(move |c| store::find_batch(c, &reader, id)).await?;
        let (mut after, mut count, mut skipped) = (Id::NIL, 0, 0);
        loop {
            let (caller, reason) = (caller.clone(), reason.clone());
            let cancel = move |c: &mut AnyConnection| {
                let loads = store::find_of_batch(c, &caller, id, (after, LOADS_PER_TRANSACTION))?;
                let (read, last) = (loads.len(), loads.last().map(|stored| stored.load.id));
                Ok::<_, Error>((read, last, cancel_many(c, &caller, loads, reason.as_deref())?))
            };
            let (read, last, cancelled) = app.db.write(cancel).await?;
            count += cancelled;
            skipped += read - cancelled;
            app.notifications.wake();
            app.webhooks.wake();
            let Some(last) = last else { break };
            after = last;
        }
        let message = match count {
            1 => "1 load was cancelled.".to_owned(),
            count => format!("{count} loads were cancelled."),
        };
        JsonResponse::json(&BatchCancellation { result: ActionResult::new(message), count, skipped })
    });
    response.await
}
