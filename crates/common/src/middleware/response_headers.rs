//! The headers that every response carries, and those of the route group `/v1/public`, which is open to every origin
//! (`docs/api/browsers.md`), with the response to its preflights.

use actix_web::dev::ServiceRequest;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpResponse, web};

use super::activity::DrainState;
use crate::telemetry::context::{REQUEST_ID, RequestContext};

const UNKNOWN_PARAMETERS: HeaderName = HeaderName::from_static("x-unknown-parameters");
const API_VERSION: HeaderName = HeaderName::from_static("api-version");

/// Adds the headers of every response to a request.
pub(super) struct ResponseHeaders {
    pub(super) context: RequestContext,
    /// Whether the request is for the route group `/v1/public`.
    pub(super) is_public: bool,
    pub(super) drain_state: Option<web::Data<DrainState>>,
    /// Whether the service has an API, whose version the response names.
    pub(super) has_api: bool,
    /// Whether `Accept` can choose the format of the operation.
    pub(super) varies_by_accept: bool,
    /// The names of the query parameters that the operation does not have.
    pub(super) unknown_parameters: Option<HeaderValue>,
}

impl ResponseHeaders {
    /// Adds the headers to a response.
    pub(super) fn add_to(&self, response: &mut HttpResponse) {
        if let Some(state) = &self.drain_state {
            state.finish(response);
        }
        let status = response.status();
        let is_success = status.is_success();
        let headers = response.headers_mut();
        if self.is_public {
            add_public_headers(headers, is_success);
        }
        if let Some(names) = &self.unknown_parameters {
            headers.insert(UNKNOWN_PARAMETERS, names.clone());
        }
        if let Ok(id) = HeaderValue::from_str(&self.context.id) {
            headers.insert(REQUEST_ID, id);
        }
        if self.varies_by_accept {
            add_to_vary(headers, "Accept");
        }
        // A handler sets this coding only to prevent compression.
        if headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding == "identity") {
            headers.remove(header::CONTENT_ENCODING);
        } else {
            add_to_vary(headers, "Accept-Encoding");
        }
        if self.has_api {
            headers.insert(API_VERSION, HeaderValue::from_static(crate::openapi::API_VERSION));
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // Pages and files have their own policies, or none: see `docs/api/files.md`, "Download".
        let has_own_policy = headers.contains_key(header::CONTENT_SECURITY_POLICY)
            || headers.contains_key(header::CONTENT_DISPOSITION)
            || status == StatusCode::NOT_MODIFIED;
        if self.has_api && !has_own_policy {
            headers.insert(header::CONTENT_SECURITY_POLICY, DATA_POLICY);
        }
        if !headers.contains_key(header::CACHE_CONTROL) {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
        }
    }
}

/// The policy of responses that contain data, not a page: a browser that shows one loads nothing and allows no frame.
const DATA_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; base-uri 'none'; frame-ancestors 'none'");

/// Adds a name to `Vary` and joins all its lines into one without duplicates.
fn add_to_vary(headers: &mut HeaderMap, added: &str) {
    let mut names: Vec<String> = Vec::new();
    let lines = headers.get_all(header::VARY).filter_map(|line| line.to_str().ok());
    for name in lines.flat_map(|line| line.split(',')).map(str::trim).chain([added]) {
        if !name.is_empty() && !names.iter().any(|known| known == "*" || known.eq_ignore_ascii_case(name)) {
            names.push(name.to_owned());
        }
    }
    if let Ok(value) = HeaderValue::try_from(names.join(", ")) {
        headers.insert(header::VARY, value);
    }
}

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
pub(super) fn add_public_headers(headers: &mut HeaderMap, is_success: bool) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, ANY);
    if is_success && !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, CACHE_CONTROL);
    }
}
