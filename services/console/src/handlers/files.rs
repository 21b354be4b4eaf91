//! Files of Drover through the console's own origin, and the console's own files.

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::TryStreamExt;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::optional;
use crate::Console;
use crate::api::model::FileInfo;
use crate::api::{Caller, Reply, Service, Write, segment};
use crate::user::{Failure, User};
use crate::views::ASSETS;

/// The most files that system resolves at once.
const MAX_RESOLVED: usize = 50;
/// Headers of a request for a file that the API understands.
const REQUEST_HEADERS: [&str; 5] = ["accept", "range", "if-none-match", "if-modified-since", "if-range"];
/// Headers of the response that the browser needs. Those that keep it from running a file are among them.
const RESPONSE_HEADERS: [&str; 10] = [
    "content-type",
    "content-length",
    "content-disposition",
    "content-security-policy",
    "x-content-type-options",
    "cache-control",
    "etag",
    "last-modified",
    "content-range",
    "accept-ranges",
];

#[derive(Deserialize)]
pub(super) struct FileParameters {
    width: Option<u32>,
}

pub(super) async fn file(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
    id: Path<String>,
    parameters: Query<FileParameters>,
) -> Result<HttpResponse, Failure> {
    let width = parameters.width.map(|width| width.to_string());
    let query: Vec<_> = width.iter().map(|width| ("width", width.as_str())).collect();
    let path = format!("/v1/files/{}", segment(&id));
    download(&console, &user, &request, (Service::System, &path), &query).await
}

/// Passes a download of a service on.
pub(super) async fn download(
    console: &Console,
    user: &User,
    request: &HttpRequest,
    place: (Service, &str),
    query: &[(&str, &str)],
) -> Result<HttpResponse, Failure> {
    download_of(&user.caller(&console.api), request, place, query).await
}

/// Passes a download of a service on to somebody who may be a visitor.
pub(super) async fn download_of(
    caller: &Caller<'_>,
    request: &HttpRequest,
    (service, path): (Service, &str),
    query: &[(&str, &str)],
) -> Result<HttpResponse, Failure> {
    let header = |name: &'static str| Some((name, request.headers().get(name)?.to_str().ok()?));
    let headers: Vec<_> = REQUEST_HEADERS.into_iter().filter_map(header).collect();
    pass_on(caller.open(service, path, query, &headers).await?)
}

/// Passes the response of a service on while it arrives.
pub(super) fn pass_on(reply: reqwest::Response) -> Result<HttpResponse, Failure> {
    let status = actix_web::http::StatusCode::from_u16(reply.status().as_u16());
    let mut response = HttpResponse::build(status.map_err(anyhow::Error::from)?);
    for name in RESPONSE_HEADERS {
        if let Some(value) = reply.headers().get(name).and_then(|value| value.to_str().ok()) {
            response.insert_header((name, value));
        }
    }
    // Compressed again, a file would lose its length and its tag.
    response.insert_header(("content-encoding", "identity"));
    let length = reply.content_length();
    let body = reply.bytes_stream().map_err(|error| std::io::Error::other(error.without_url()));
    Ok(match length {
        Some(length) => response.no_chunking(length).streaming(body),
        None => response.streaming(body),
    })
}

/// Reads what system says about files. Without system, nothing is known of them.
pub(super) async fn resolve(
    caller: &Caller<'_>,
    ids: &[&str],
    missing: &mut Vec<String>,
) -> Result<Vec<FileInfo>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let body = json!({"ids": &ids[..ids.len().min(MAX_RESOLVED)], "brief": true});
    let path = "/v1/files/resolve";
    let found = caller.send_json(Service::System, Method::POST, path, Some(&body), Write::default()).await;
    let found = found.map(|value| Reply { value, total: None, next: None });
    let found = optional(found, missing)?.map(|reply| reply.value).unwrap_or_default();
    Ok(serde_json::from_value(found).unwrap_or_default())
}

/// Returns the ids of those files that are pictures. Without system, none are shown.
pub(super) async fn find_pictures(
    caller: &Caller<'_>,
    ids: &[&str],
    missing: &mut Vec<String>,
) -> Result<Vec<String>, Failure> {
    let pictures = resolve(caller, ids, missing)
        .await?
        .into_iter()
        .filter(|file| file.content_type.starts_with("image/"));
    Ok(pictures.map(|file| file.id).collect())
}

pub(super) async fn asset(name: Path<String>) -> Result<HttpResponse, Failure> {
    let asset = ASSETS.iter().find(|asset| asset.name == *name).ok_or(Failure::NotFound)?;
    let mut response = HttpResponse::Ok();
    response.insert_header(("cache-control", "public, max-age=31536000, immutable"));
    Ok(response.content_type(asset.media_type).body(asset.content))
}
