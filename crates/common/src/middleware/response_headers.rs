//! The headers that every response carries.

use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpResponse, web};

use super::drain_state::DrainState;
use super::public_cors;
use crate::telemetry::context::{REQUEST_ID, RequestContext};

const UNKNOWN_PARAMETERS: HeaderName = HeaderName::from_static("x-unknown-parameters");
const API_VERSION: HeaderName = HeaderName::from_static("api-version");

/// Adds the headers of every response to a request.
pub(super) struct ResponseHeaders {
    pub(super) context: RequestContext,
    /// Whether the request is for the route group `/v1/public`.
    pub(super) is_public: bool,
    pub(super) drain_state: Option<web::Data<DrainState>>,
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
        let is_success = response.status().is_success();
        let headers = response.headers_mut();
        if self.is_public {
            public_cors::add_headers(headers, is_success);
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
        headers.insert(API_VERSION, HeaderValue::from_static(crate::openapi::API_VERSION));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if !headers.contains_key(header::CACHE_CONTROL) {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
        }
    }
}

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
