//! `POST /v1/files/{id}/link`

use actix_web::post;
use actix_web::web::Data;
use common::{Body, Caller, Error, ErrorResponses, JsonResponse, PathId};

use crate::System;
use crate::examples;
use crate::files::links::{LinkForm, Maker, signing_key};
use crate::files::responses::Link;
use crate::files::store;

/// Create a signed link
///
/// The link downloads the file without a token until it expires, the file is archived or the caller may not read it any
/// more, for example as an image on a page. Everybody who knows the link can use it. Nothing is stored, so the
/// operation ignores `Idempotency-Key`.
#[utoipa::path(operation_id = "create_link", tag = "files", security(("bearer" = [])),
    params(("id" = String, Path, description = "The file's id", example = json!(examples::FILE))),
    request_body = LinkForm,
    extensions(("x-optional-body" = json!(true)), ("x-no-idempotency-key" = json!(true))),
    responses((status = 200, body = Link), ErrorResponses))]
#[post("/files/{id}/link")]
pub(super) async fn create_link(
    caller: Caller,
    path: PathId,
    body: Body<LinkForm>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    let (form, _) = body.check(|_, _| ())?;
    let (id, maker) = (path.id()?, Maker::of(&caller));
    system.db.read(move |c| store::check_linkable(c, &caller, id)).await?;
    let key = signing_key(&system.db).await?;
    JsonResponse::json(&Link::of(&form.target(id, maker), &system.public_url, &key))
}
