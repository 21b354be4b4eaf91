//! Renders errors as the documented body (`docs/api/errors.md`), and logs those that an operator must know of.

use std::cell::RefCell;

use actix_cors::CorsError;
use actix_web::body::BoxBody;
use actix_web::dev::ServiceResponse;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};

use super::response_headers::ResponseHeaders;
use crate::Error;
use crate::response::validation::{Code, ValidationErrors};
use crate::telemetry::context::RequestContext;

/// Message for a preflight request that `server.cors_origins` does not allow.
const CORS_REFUSED: &str = "has an origin, method or header that cross-origin requests may not have";

/// Gives the documented body to errors of handlers, of extractors and of actix itself.
pub(super) fn render(
    response: ServiceResponse<BoxBody>,
    context: &RequestContext,
) -> ServiceResponse<BoxBody> {
    if let Some(rendered) = response.response().error().map(|error| error_response(error, context)) {
        return replace(response, rendered);
    }
    let has_body = response.headers().contains_key(header::CONTENT_TYPE);
    match by_status(response.status()).filter(|_| !has_body) {
        Some(error) => {
            let rendered = error.respond(&context.id);
            replace(response, rendered)
        }
        None => response,
    }
}

/// Replaces a response and keeps its CORS headers, so that the same origins can read it.
fn replace(response: ServiceResponse<BoxBody>, mut replacement: HttpResponse) -> ServiceResponse<BoxBody> {
    for (name, value) in response.headers() {
        if name == header::VARY || name.as_str().starts_with("access-control-") {
            replacement.headers_mut().append(name.clone(), value.clone());
        }
    }
    response.into_response(replacement)
}

/// Returns the response to an error and logs the error.
pub(super) fn error_response(error: &actix_web::Error, context: &RequestContext) -> HttpResponse {
    if let Some(own) = error.as_error::<Error>() {
        log(own);
        return own.respond(&context.id);
    }
    if error.as_error::<CorsError>().is_some() {
        return Error::from(ValidationErrors::one("", Code::Format, CORS_REFUSED)).respond(&context.id);
    }
    let status = error.as_response_error().status_code();
    let own = by_status(status).unwrap_or_else(|| Error::Internal(anyhow::anyhow!("{status}")));
    tracing::debug!(%error, %status, "request refused by the framework");
    own.respond(&context.id)
}

fn log(error: &Error) {
    match error {
        Error::Internal(cause) => tracing::error!(error = format!("{cause:#}"), "internal error"),
        Error::Unavailable(cause, _) => {
            tracing::warn!(error = format!("{cause:#}"), "dependency unavailable");
        }
        Error::CommitUnknown(cause) => {
            tracing::error!(error = format!("{cause:#}"), "the outcome of a commit is unknown");
        }
        _ => {}
    }
}

/// Returns the error that stands for a status of actix.
fn by_status(status: StatusCode) -> Option<Error> {
    match status {
        StatusCode::NOT_FOUND => Some(Error::NotFound),
        // `access_control` has refused methods under /v1 already. The other routes can only be read.
        StatusCode::METHOD_NOT_ALLOWED => Some(Error::MethodNotAllowed("GET, HEAD".into())),
        StatusCode::NOT_ACCEPTABLE => Some(Error::NotAcceptable("another content coding".into())),
        StatusCode::PAYLOAD_TOO_LARGE => Some(Error::PayloadTooLarge(0)),
        status if status.is_client_error() => Some(Error::malformed_body(status.to_string())),
        status if status.is_server_error() => Some(Error::Internal(anyhow::anyhow!("{status}"))),
        _ => None,
    }
}

/// An error whose response is rendered already. For a middleware that returns an error, actix creates the response by
/// [`ResponseError::error_response`].
pub(super) struct RenderedError {
    status: StatusCode,
    response: RefCell<Option<HttpResponse>>,
    headers: ResponseHeaders,
}

impl RenderedError {
    /// Wraps a response and the headers that it gets when it is sent.
    pub(super) fn new(response: HttpResponse, headers: ResponseHeaders) -> Self {
        Self { status: response.status(), response: RefCell::new(Some(response)), headers }
    }
}

impl ResponseError for RenderedError {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = self.response.take().unwrap_or_else(|| HttpResponse::new(self.status));
        self.headers.add_to(&mut response);
        response
    }
}

impl std::fmt::Debug for RenderedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.status)
    }
}

impl std::fmt::Display for RenderedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.status)
    }
}
