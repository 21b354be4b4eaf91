//! CORS for the origins in `server.cors_origins`.

use actix_cors::Cors;
use actix_web::http::header::HeaderValue;

use crate::config::allows_loopback;

/// Response headers that browsers may read, besides those that they always may.
const EXPOSED_HEADERS: [&str; 15] = [
    "accept-ranges",
    "api-version",
    "content-disposition",
    "content-range",
    "etag",
    "idempotency-replayed",
    "link",
    "location",
    "retry-after",
    "traceparent",
    "www-authenticate",
    "x-missing-ids",
    "x-request-id",
    "x-total-count",
    "x-unknown-parameters",
];
/// How long browsers may cache a preflight response.
const MAX_AGE_SECONDS: usize = 3600;

/// Returns the CORS layer for these values of `server.cors_origins`.
pub(super) fn cors(origins: &[String]) -> Cors {
    let cors = Cors::default()
        .allow_any_method()
        .allow_any_header()
        .expose_headers(EXPOSED_HEADERS)
        .max_age(MAX_AGE_SECONDS);
    if origins.iter().any(|origin| origin == "*") {
        return cors.allow_any_origin();
    }
    let configured = origins.to_owned();
    let is_loopback =
        move |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| allows_loopback(&configured, origin));
    let cors = cors.allowed_origin_fn(move |origin, _| is_loopback(origin));
    origins
        .iter()
        .filter(|origin| *origin != "loopback")
        .fold(cors, |cors, origin| cors.allowed_origin(origin))
}
