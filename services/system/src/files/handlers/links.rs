//! `POST /v1/files/{id}/link`, `POST /v1/files/links` and `GET /v1/public/images/links`

use std::time::Duration;

use actix_web::web::Data;
use actix_web::{get, post};
use common::wire::QueryText;
use common::{Body, Caller, Error, ErrorResponses, JsonResponse, PathId, Query};
use serde::Deserialize;
use utoipa::{IntoParams, PartialSchema};

use crate::System;
use crate::examples;
use crate::files::images::Width;
use crate::files::links::{FileLink, Link, LinkForm, LinksForm, Maker};
use crate::files::model::distinct_ids;
use crate::files::store;
use crate::keys::signing_key;

/// How long a call waits for other calls of its tenant.
const LINKS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long links to public images are valid, in seconds. Short, because an image may stop being public.
const IMAGE_LINK_SECONDS: i64 = 2 * 3600;

/// Create a signed link
///
/// The link downloads the file without a token until it expires, the file is archived or the caller may not read it any
/// more, for example as an image on a page. Everybody who knows the link can use it. Nothing is stored, so the
/// operation ignores `Idempotency-Key`.
#[utoipa::path(operation_id = "create_link", tag = "files", security(("bearer" = [])),
    params(("id" = String, Path, description = "The file's id", example = json!(examples::FILE))),
    request_body = LinkForm,
    extensions(("x-roles" = json!(["viewer", "weighbridge"])), ("x-optional-body" = json!(true)),
        ("x-no-idempotency-key" = json!(true))),
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
    JsonResponse::json(&form.sign(id, &maker, &system.public_url, &key))
}

/// Create signed links
///
/// Returns a link to each file, once and in the order of the request. Ids that are unknown, archived or not readable
/// are omitted and listed in `X-Missing-Ids`. Nothing is stored, so the operation ignores `Idempotency-Key`.
#[utoipa::path(operation_id = "create_links", tag = "files", security(("bearer" = [])),
    request_body = LinksForm,
    extensions(("x-roles" = json!(["viewer", "weighbridge"])), ("x-no-idempotency-key" = json!(true))),
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
    let links = form.sign(&found, &maker, &system.public_url, &key);
    let missing = ids.iter().filter(|id| !found.contains(id)).map(ToString::to_string).collect::<Vec<_>>();
    let response = JsonResponse::json(&links)?;
    Ok(if missing.is_empty() { response } else { response.header("X-Missing-Ids", missing.join(",")) })
}

/// The images to link.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct ImageLinkParams {
    /// Ids of files, repeated or comma-separated. Texts that are not UUIDs are ignored.
    #[param(required = true, min_items = 1, max_items = 50, example = json!([examples::FILE]))]
    ids: Vec<QueryText>,
    /// The width of a smaller image.
    #[param(schema_with = Width::schema)]
    width: Option<Width>,
    /// Widths of smaller images, each of which gets a link in `urls`; repeated or comma-separated.
    #[param(schema_with = Width::list_schema)]
    widths: Vec<Width>,
}

/// Get links to public images
///
/// Returns a link for two hours to each of the files that is an image and shared with everybody, in the order of the
/// request. Other ids are omitted. Pages for visitors without a token show such images: see the public listings
/// of livestock. 404 if the setting `service.public_images` is off.
#[utoipa::path(operation_id = "list_image_links", tag = "files", params(ImageLinkParams),
    responses((status = 200, body = Vec<FileLink>), ErrorResponses))]
#[get("/public/images/links")]
pub(super) async fn list_image_links(
    query: Query<ImageLinkParams>,
    system: Data<System>,
) -> Result<JsonResponse, Error> {
    if !system.settings.public_images {
        return Err(Error::NotFound);
    }
    let (ids, form) = query.check(|params, _| {
        let form = LinkForm::new(IMAGE_LINK_SECONDS, params.width, params.widths.clone());
        (distinct_ids(&params.ids), form)
    })?;
    let images = system.db.read(move |c| store::find_public_images(c, &ids)).await?;
    let key = signing_key(&system.db).await?;
    let links = form.sign_all(&images, &Maker::everybody(), &system.public_url, &key);
    // Caches may keep a link while it is valid for long.
    Ok(JsonResponse::json(&links)?.header("Cache-Control", "public, max-age=60"))
}
