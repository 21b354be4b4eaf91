//! CORS and caching of the route group `/v1/public`, which is open to every origin (`docs/api/browsers.md`).

use actix_web::HttpResponse;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderValue};

/// Caches may store a success for 300 seconds, unless the handler says otherwise.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=300");
const ANY: HeaderValue = HeaderValue::from_static("*");

/// Returns whether the request is a CORS preflight, as the Fetch standard defines it.
pub(super) fn is_preflight(request: &ServiceRequest) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns the response to a preflight. Browsers may cache it for an hour.
pub(super) fn preflight_response(request: &ServiceRequest) -> HttpResponse {
    let mut response = HttpResponse::NoContent();
    response.insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD"));
    response.insert_header((header::ACCESS_CONTROL_MAX_AGE, "3600"));
    if let Some(requested) = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        response.insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, requested.clone()));
    }
    response.finish()
}

/// Adds the headers of every response of the group.
pub(super) fn add_headers(headers: &mut HeaderMap, is_success: bool) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, ANY);
    if is_success && !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, CACHE_CONTROL);
    }
}
