//! The outermost layer of every request: its ids, what no handler should have to think of (HEAD, headers of every
//! answer, panics), the one place where errors become bodies, one log line and the metrics.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpResponse, ResponseError, web};
use futures_util::FutureExt;
use tracing_actix_web::RootSpanBuilder;

use super::public_cors;
use crate::Error;
use crate::middleware::access_control::is_preflight;
use crate::middleware::context::{REQUEST_ID, RequestContext, Route};
use crate::openapi::{Api, is_public};
use crate::service::connection::Activity;
use crate::service::drain::DrainState;
use crate::telemetry::metrics::RequestMetrics;
use crate::telemetry::traces;

const API_VERSION: HeaderName = HeaderName::from_static("api-version");

/// The span that every log line of a request stands in.
pub(crate) struct RequestSpan;

impl RootSpanBuilder for RequestSpan {
    fn on_request_start(request: &ServiceRequest) -> tracing::Span {
        let route = Route::of(request);
        let context = RequestContext::begin(request, &route);
        // Of the highest level, or a filter for warnings would take the request id off them.
        let span = tracing::error_span!(
            "request",
            request_id = context.id,
            trace_id = context.trace_id,
            method = %request.method(),
            route = route.0.unwrap_or_default(),
        );
        request.extensions_mut().insert(context);
        span
    }

    fn on_request_end<B: MessageBody>(_: tracing::Span, _: &Result<ServiceResponse<B>, actix_web::Error>) {}
}

/// See the module.
pub(crate) async fn boundary(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let started = Instant::now();
    let (context, leaving) = (RequestContext::of(&request), DrainState::of(request.request()));
    let head = request.method() == Method::HEAD;
    if head {
        request.head_mut().method = Method::GET;
        // Ranges are defined for GET alone (RFC 9110, 14.2).
        request.headers_mut().remove(header::RANGE);
    }
    let (public, route) = (is_public(request.match_info().as_str()), Route::of(&request));
    let Some(api) = request.app_data::<web::Data<Api>>().cloned() else {
        return Err(Error::Internal(anyhow::anyhow!("the app has no document")).into());
    };
    let under_way = Activity::begin(&request, &api.in_flight);
    let operation = route.operation(&api, request.method());
    let measured = operation.map_or(&api.others, |operation| &operation.metrics);
    if public && route.0.is_some() && is_preflight(&request) {
        let mut answer = public_cors::preflight(&request);
        finish(&mut answer, &context, public, leaving.as_deref());
        traces::answered(context.traced.as_ref(), answer.status().as_u16());
        return Ok(request.into_response(answer));
    }
    request.extensions_mut().insert(route);
    let called = traces::within(context.traced.clone(), next.call(request));
    let answered = match AssertUnwindSafe(called).catch_unwind().await {
        Ok(answered) => answered.map(ServiceResponse::map_into_boxed_body),
        // Where it was the log has: `telemetry`.
        Err(_) => Err(Error::Internal(anyhow::anyhow!("a panic")).into()),
    };
    let mut response = match answered {
        Ok(response) => render(response, &context),
        Err(error) => {
            // The request is gone, so actix makes the response: from this, which knows what it must look like.
            let answer = respond(&error, &context);
            observe(answer.status(), measured, started, &context);
            let status = answer.status();
            return Err(
                Rendered { status, answer: RefCell::new(Some(answer)), context, public, leaving }.into()
            );
        }
    };
    finish(response.response_mut(), &context, public, leaving.as_deref());
    observe(response.status(), measured, started, &context);
    Ok(response.map_body(|_, body| match under_way {
        _ if head => BoxBody::new(HeadBody(body.size())),
        Some(under_way) => under_way.until_the_end_of(body),
        None => body,
    }))
}

/// An answer on its way out as an error.
struct Rendered {
    status: StatusCode,
    answer: RefCell<Option<HttpResponse>>,
    context: RequestContext,
    public: bool,
    leaving: Option<web::Data<DrainState>>,
}

impl ResponseError for Rendered {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut answer = self.answer.take().unwrap_or_else(|| HttpResponse::new(self.status));
        finish(&mut answer, &self.context, self.public, self.leaving.as_deref());
        answer
    }
}

impl std::fmt::Debug for Rendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.status)
    }
}

impl std::fmt::Display for Rendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.status)
    }
}

/// An error of a handler, of an extractor or of actix itself gets the contract's body.
fn render(response: ServiceResponse<BoxBody>, context: &RequestContext) -> ServiceResponse<BoxBody> {
    if let Some(answer) = response.response().error().map(|error| respond(error, context)) {
        return replace(response, answer);
    }
    let bare = !response.headers().contains_key(header::CONTENT_TYPE);
    match bare.then(|| by_status(response.status())).flatten() {
        Some(error) => {
            let answer = error.respond(&context.id);
            replace(response, answer)
        }
        None => response,
    }
}

/// Another answer instead of this one, readable for the same origins.
fn replace(response: ServiceResponse<BoxBody>, mut answer: HttpResponse) -> ServiceResponse<BoxBody> {
    for (name, value) in response.headers() {
        if name == header::VARY || name.as_str().starts_with("access-control-") {
            answer.headers_mut().append(name.clone(), value.clone());
        }
    }
    response.into_response(answer)
}

fn respond(error: &actix_web::Error, context: &RequestContext) -> HttpResponse {
    if let Some(own) = error.as_error::<Error>() {
        match own {
            Error::Internal(cause) => tracing::error!(error = format!("{cause:#}"), "an internal error"),
            Error::Unavailable(cause, _) => {
                tracing::warn!(error = format!("{cause:#}"), "a dependency is unavailable");
            }
            Error::CommitUnknown(cause) => {
                tracing::error!(error = format!("{cause:#}"), "whether this was done is not known");
            }
            _ => {}
        }
        return own.respond(&context.id);
    }
    let status = error.as_response_error().status_code();
    let ours = by_status(status).unwrap_or_else(|| Error::Internal(anyhow::anyhow!("{status}")));
    tracing::debug!(%error, %status, "refused by the framework");
    ours.respond(&context.id)
}

/// What actix means by a status.
fn by_status(status: StatusCode) -> Option<Error> {
    match status {
        StatusCode::NOT_FOUND => Some(Error::NotFound),
        // Those under /v1 were refused before; the others are there to be read.
        StatusCode::METHOD_NOT_ALLOWED => Some(Error::MethodNotAllowed("GET, HEAD".into())),
        StatusCode::NOT_ACCEPTABLE => Some(Error::NotAcceptable("another content coding".into())),
        StatusCode::PAYLOAD_TOO_LARGE => Some(Error::PayloadTooLarge(0)),
        status if status.is_client_error() => Some(Error::MalformedBody(status.to_string())),
        status if status.is_server_error() => Some(Error::Internal(anyhow::anyhow!("{status}"))),
        _ => None,
    }
}

/// The headers that every answer carries.
fn finish(
    response: &mut HttpResponse,
    context: &RequestContext,
    public: bool,
    leaving: Option<&Arc<DrainState>>,
) {
    if let Some(leaving) = leaving {
        leaving.finish(response);
    }
    let success = response.status().is_success();
    let headers = response.headers_mut();
    if public {
        public_cors::finish(headers, success);
    }
    if let Ok(id) = HeaderValue::from_str(&context.id) {
        headers.insert(REQUEST_ID, id);
    }
    // It only kept the content from being compressed.
    if headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding == "identity") {
        headers.remove(header::CONTENT_ENCODING);
    } else {
        vary_by_encoding(headers);
    }
    headers.insert(API_VERSION, HeaderValue::from_static("1.0.0"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    }
}

/// Adds `Accept-Encoding` to `Vary`, which becomes one line without duplicates.
fn vary_by_encoding(headers: &mut HeaderMap) {
    let mut names: Vec<String> = Vec::new();
    let lines = headers.get_all(header::VARY).filter_map(|line| line.to_str().ok());
    for name in lines.flat_map(|line| line.split(',')).map(str::trim).chain(["Accept-Encoding"]) {
        if !name.is_empty() && !names.iter().any(|known| known == "*" || known.eq_ignore_ascii_case(name)) {
            names.push(name.to_owned());
        }
    }
    if let Ok(value) = HeaderValue::try_from(names.join(", ")) {
        headers.insert(header::VARY, value);
    }
}

fn observe(status: StatusCode, measured: &RequestMetrics, started: Instant, context: &RequestContext) {
    let (status, seconds) = (status.as_u16(), started.elapsed().as_secs_f64());
    tracing::info!(status, operation = measured.operation(), ms = (seconds * 1e6).round() / 1e3, "answered");
    measured.record(status, seconds);
    traces::answered(context.traced.as_ref(), status);
}

/// The answer to HEAD: as long as GET's, and empty.
struct HeadBody(BodySize);

impl MessageBody for HeadBody {
    type Error = std::convert::Infallible;

    fn size(&self) -> BodySize {
        self.0
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<web::Bytes, Self::Error>>> {
        Poll::Ready(None)
    }
}
