//! CORS for the origins in `server.cors_origins`.

use actix_cors::Cors;

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

/// Returns the CORS layer for these origins; `*` allows every origin.
pub(super) fn cors(origins: &[String]) -> Cors {
    let cors = Cors::default()
        .allow_any_method()
        .allow_any_header()
        .expose_headers(EXPOSED_HEADERS)
        .max_age(MAX_AGE_SECONDS);
    if origins.iter().any(|origin| origin == "*") {
        return cors.allow_any_origin();
    }
    origins.iter().fold(cors, |cors, origin| cors.allowed_origin(origin))
}
