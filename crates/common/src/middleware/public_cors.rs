//! The route group for browsers, `/v1/public`: open to every origin, and caches may keep its answers (contract,
//! section 3).

use actix_web::HttpResponse;
use actix_web::dev::ServiceRequest;
use actix_web::http::header::{self, HeaderMap, HeaderValue};

/// How long an answer may be kept, in seconds.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=300");
const ANY: HeaderValue = HeaderValue::from_static("*");

/// The answer to a browser that asks whether it may call (Fetch standard, "CORS-preflight request").
pub(crate) fn preflight(request: &ServiceRequest) -> HttpResponse {
    let mut answer = HttpResponse::NoContent();
    answer.insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD"));
    answer.insert_header((header::ACCESS_CONTROL_MAX_AGE, "3600"));
    if let Some(asked) = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone()));
    }
    answer.finish()
}

/// The headers that every answer of the group carries.
pub(crate) fn finish(headers: &mut HeaderMap, success: bool) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, ANY);
    if success {
        headers.insert(header::CACHE_CONTROL, CACHE_CONTROL);
    }
}
