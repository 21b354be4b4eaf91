//! `GET /v1/public/images/links`

use actix_web::get;
use actix_web::web::Data;
use common::wire::QueryText;
use common::{Error, ErrorResponses, JsonResponse, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::System;
use crate::examples;
use crate::files::ids::distinct_ids;
use crate::files::links::{LinkTarget, Maker, signing_key};
use crate::files::responses::FileLink;
use crate::files::store;

/// How long the links are valid, in seconds. Short, because an image may stop being public.
const LINK_SECONDS: i64 = 2 * 3600;

/// The images to link.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct ImageLinkParams {
    /// Ids of files, repeated or comma-separated. Texts that are not UUIDs are ignored.
    #[param(required = true, min_items = 1, max_items = 50, example = json!([examples::FILE]))]
    ids: Vec<QueryText>,
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
    let ids = query.check(|params, _| distinct_ids(&params.ids))?;
    let images = system.db.read(move |c| store::find_public_images(c, &ids)).await?;
    let key = signing_key(&system.db).await?;
    let target = |id| LinkTarget::new(id, None, LINK_SECONDS, Maker::everybody());
    let link = |id| FileLink::of(&target(id), &system.public_url, &key);
    let links: Vec<_> = images.into_iter().map(link).collect();
    // Caches may keep a link while it is valid for long.
    Ok(JsonResponse::json(&links)?.header("Cache-Control", "public, max-age=60"))
}
