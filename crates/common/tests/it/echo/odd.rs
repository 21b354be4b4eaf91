//! Operations that fail, are slow, or echo their parameters.

use std::time::Duration;

use actix_web::web::{Bytes, Data};
use actix_web::{HttpResponse, get};
use common::validation::Code;
use common::wire::{DateOrDateTime, QueryText};
use common::{Admin, Authorized, Caller, Error, ErrorResponses, JsonResponse, Member, PathId, Query};
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_actix_web::scope;
use utoipa_actix_web::service_config::ServiceConfig;

use super::Echo;

#[utoipa::path(operation_id = "panic", responses((status = 200, body = String), ErrorResponses))]
#[get("/panic")]
async fn panics() -> Result<JsonResponse, Error> {
    panic!("a secret in a panic")
}

#[utoipa::path(operation_id = "bug", responses((status = 200, body = String), ErrorResponses))]
#[get("/bug")]
async fn bug() -> Result<JsonResponse, Error> {
    Err(Error::Internal(anyhow::anyhow!("a secret in an internal error")))
}

/// A large response that compresses well.
#[utoipa::path(operation_id = "big", responses((status = 200, body = String), ErrorResponses))]
#[get("/big")]
async fn big() -> Result<JsonResponse, Error> {
    JsonResponse::json(&"lorem ipsum ".repeat(5_000))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct Pause {
    #[param(minimum = 0, maximum = 60_000)]
    ms: u64,
}

#[utoipa::path(operation_id = "sleep", params(Pause), responses((status = 200, body = u64), ErrorResponses))]
#[get("/sleep")]
async fn sleep(pause: Query<Pause>) -> Result<JsonResponse, Error> {
    let ms = pause.check(|pause, _| pause.ms)?;
    tokio::time::sleep(Duration::from_millis(ms)).await;
    JsonResponse::json(&ms)
}

/// A response that pauses half-way.
#[utoipa::path(operation_id = "pause", params(Pause), responses((status = 200, body = String), ErrorResponses))]
#[get("/pause")]
async fn pauses(pause: Query<Pause>) -> Result<HttpResponse, Error> {
    let ms = pause.check(|pause, _| pause.ms)?;
    let pieces = stream::iter([("begin", 0), ("end", ms)]).then(async |(piece, ms)| {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok::<_, Error>(Bytes::from_static(piece.as_bytes()))
    });
    Ok(HttpResponse::Ok().content_type("text/plain").streaming(pieces))
}

/// A streamed response of 640 MB, more than any kernel buffers.
#[utoipa::path(operation_id = "large_stream", responses((status = 200, body = String), ErrorResponses))]
#[get("/large-stream")]
async fn large_stream() -> HttpResponse {
    let piece = Bytes::from(vec![b'.'; 64_000]);
    let pieces = stream::iter(std::iter::repeat_n(piece, 10_000));
    HttpResponse::Ok().content_type("text/plain").streaming(pieces.map(Ok::<_, Error>))
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

/// Every kind of parameter.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Heard {
    #[param(minimum = -5, maximum = 5)]
    whole: Option<i64>,
    #[param(minimum = -90, maximum = 90)]
    real: Option<f64>,
    flag: Option<bool>,
    #[param(max_items = 3)]
    many: Vec<QueryText>,
    #[serde(rename = "f:name")]
    filter: Option<QueryText>,
    day: Option<DateOrDateTime>,
    #[param(inline)]
    colour: Option<Colour>,
    #[param(required = true, min_length = 2)]
    must: String,
}

#[utoipa::path(operation_id = "hear", params(Heard), responses((status = 200, body = String), ErrorResponses))]
#[get("/hear")]
async fn hear(query: Query<Heard>) -> Result<JsonResponse, Error> {
    query.check(|heard, errors| {
        if heard.filter.as_deref() == Some("inconsistent") {
            errors.push("f:name", Code::Inconsistent, "contradicts itself");
        }
        JsonResponse::json(heard)
    })?
}

/// Stored content by a link, without its signature.
#[utoipa::path(operation_id = "linked", params(Pause),
    responses((status = 200, content_type = "*/*", body = String), ErrorResponses))]
#[get("/linked")]
async fn linked(pause: Query<Pause>) -> Result<JsonResponse, Error> {
    JsonResponse::json(&pause.check(|pause, _| pause.ms)?)
}

/// A path with an id. An invalid query is reported before an invalid id.
#[utoipa::path(operation_id = "hear_of", params(("id" = String, Path), Pause),
    responses((status = 200, body = String), ErrorResponses))]
#[get("/hear/{id}")]
async fn hear_of(path: PathId, query: Query<Pause>) -> Result<JsonResponse, Error> {
    query.check(|_, _| {})?;
    JsonResponse::json(&path.id()?.to_string())
}

#[utoipa::path(operation_id = "who", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    responses((status = 200, body = String), ErrorResponses))]
#[get("/who")]
async fn who(caller: Caller) -> Result<JsonResponse, Error> {
    JsonResponse::json(&json!({
        "id": caller.user_id, "name": caller.user_name, "admin": caller.admin,
        "org": caller.organisation.as_ref().map(|o| &o.id), "orgName": caller.organisation.as_ref().map(common::Organisation::name_or_id),
        "requestId": caller.request.id, "traceparent": caller.request.traceparent(),
    }))
}

#[utoipa::path(operation_id = "only_admin", params(Pause), security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    responses((status = 200, body = String), ErrorResponses))]
#[get("/admin")]
async fn only_admin(_: Authorized<Admin>, query: Query<Pause>) -> Result<JsonResponse, Error> {
    query.check(|_, _| {})?;
    JsonResponse::json("admin")
}

#[utoipa::path(operation_id = "only_member", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    responses((status = 200, body = String), ErrorResponses))]
#[get("/member")]
async fn only_member(caller: Authorized<Member>) -> Result<JsonResponse, Error> {
    JsonResponse::json(caller.organisation_id_or_empty())
}

/// A response that shared caches may store.
#[utoipa::path(operation_id = "public", responses((status = 200, body = String), ErrorResponses))]
#[get("/public")]
async fn public(_: Data<Echo>) -> HttpResponse {
    HttpResponse::Ok().insert_header(("Cache-Control", "public, max-age=60")).json("public")
}

pub(super) fn routes(v1: &mut ServiceConfig) {
    v1.service(panics)
        .service(bug)
        .service(big)
        .service(sleep)
        .service(pauses)
        .service(large_stream)
        .service(hear)
        .service(linked)
        .service(hear_of);
    v1.service(who).service(only_admin).service(only_member).service(public);
    v1.service(scope("/public").service(hear).service(panics));
}
