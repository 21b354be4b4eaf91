//! `POST /v1/files/links`

use std::time::Duration;

use actix_web::post;
use actix_web::web::Data;
use common::{Body, Caller, Error, ErrorResponses, JsonResponse};

use crate::System;
use crate::files::links::{LinksForm, Maker, signing_key};
use crate::files::responses::FileLink;
use crate::files::store;

/// How long a call waits for other calls of its tenant.
const LINKS_TIMEOUT: Duration = Duration::from_secs(5);

/// Create signed links
///
/// Returns a link to each file, once and in the order of the request. Ids that are unknown, archived or not readable
/// are omitted and listed in `X-Missing-Ids`. Nothing is stored, so the operation ignores `Idempotency-Key`.
#[utoipa::path(operation_id = "create_links", tag = "files", security(("bearer" = [])),
    request_body = LinksForm, extensions(("x-no-idempotency-key" = json!(true))),
    responses(
        (status = 200, body = Vec<FileLink>, headers(("X-Missing-Ids" = String, description = "Comma-separated ids"))),
        (status = 429, description = "Too many calls of the caller's organisation are running."),
        ErrorResponses))]
#[post("/files/links")]
pub(super) async fn create_links(
    caller: Caller,
    body: Body<LinksForm>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (form, _) = body.check(|_, _| ())?;
    // A call may read several MB of organisations, as the resolve operation does.
    let permit = system.resolve_limits.acquire(&caller.tenant(), LINKS_TIMEOUT).await;
    let permit =
        permit.ok_or(Error::TenantBusy("Too many of your calls are running: try again, one at a time."))?;
    let (ids, maker) = (form.ids(), Maker::of(&caller));
    let requested = ids.clone();
    let found = system.db.read(move |c| store::find_linkable(c, &caller, &requested)).await?;
    drop(permit);
    let key = signing_key(&system.db).await?;
    let links: Vec<_> = found
        .iter()
        .map(|id| FileLink::of(&form.target(*id, maker.clone()), &system.public_url, &key))
        .collect();
    let missing = ids.iter().filter(|id| !found.contains(id)).map(ToString::to_string).collect::<Vec<_>>();
    let response = JsonResponse::json(&links)?;
    Ok(if missing.is_empty() { response } else { response.header("X-Missing-Ids", missing.join(",")) })
}
