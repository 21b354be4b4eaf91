//! The two outermost layers of every request. [`RequestSpan`] gives it a span and an id. Inside it,
//! [`request_lifecycle`] turns HEAD into GET, catches panics, renders errors, adds the headers of the response, and
//! writes the log line and the metrics. It answers preflights of `/v1/public` itself, without log line or metrics.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::{ConnectionType, Method, StatusCode, Version, header};
use actix_web::middleware::Next;
use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse, web};
use futures_util::FutureExt;
use tracing_actix_web::RootSpanBuilder;

use super::activity::{Activity, DrainState, InFlightGuard};
use super::error_response::{RenderedError, error_response, render};
use super::rate_limit::ClientAddress;
use super::response_headers::{ResponseHeaders, is_preflight, preflight_response};
use crate::Error;
use crate::openapi::{Api, Operation, Route, is_public, unknown_parameters};
use crate::telemetry::context::RequestContext;
use crate::telemetry::metrics::RequestMetrics;
use crate::telemetry::security::RefusalLog;
use crate::telemetry::traces;

/// Creates the log span of a request. Every log line of the request carries its fields.
pub(crate) struct RequestSpan;

impl RootSpanBuilder for RequestSpan {
    fn on_request_start(request: &ServiceRequest) -> tracing::Span {
        let route = Route::find(request);
        let context = RequestContext::begin(request, route.pattern());
        // At the highest level, because a filter drops the fields of spans below its level.
        let span = tracing::error_span!(
            "request",
            request_id = context.id,
            trace_id = context.trace_id().to_string(),
            method = %request.method(),
            route = route.pattern().unwrap_or_default(),
        );
        request.extensions_mut().insert(context);
        request.extensions_mut().insert(route);
        span
    }

    fn on_request_end<B: MessageBody>(_: tracing::Span, _: &Result<ServiceResponse<B>, actix_web::Error>) {}
}

/// Runs the inner layers and the handler, and completes their response.
pub(crate) async fn request_lifecycle(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let started = Instant::now();
    let mut headers = ResponseHeaders {
        context: RequestContext::of(&request),
        is_public: is_public(request.match_info().as_str()),
        drain_state: DrainState::of(request.request()),
        has_api: true,
        varies_by_accept: false,
        unknown_parameters: None,
    };
    let is_head = turn_head_into_get(&mut request);
    let is_http_10 = request.version() <= Version::HTTP_10;
    let route = Route::of(request.request());
    let Some(api) = request.app_data::<web::Data<Api>>().cloned() else {
        return Err(Error::Internal(anyhow::anyhow!("the app has no OpenAPI document")).into());
    };
    headers.has_api = api.has_document();
    let in_flight = Activity::begin(&request, &api.in_flight);
    let operation = route.operation(&api, request.method());
    headers.varies_by_accept = operation.is_some_and(Operation::has_formats);
    headers.unknown_parameters =
        operation.and_then(|operation| unknown_parameters::header_value(request.query_string(), operation));
    let metrics = operation.map_or(&api.others, |operation| &operation.metrics);
    if headers.is_public && route.pattern().is_some() && is_preflight(&request) {
        let mut response = preflight_response(&request);
        headers.add_to(&mut response);
        traces::end_request(headers.context.traced.as_ref(), response.status().as_u16());
        return Ok(request.into_response(response));
    }
    match call(request, next, &headers.context).await {
        Ok(response) => {
            log_refusal(&response, metrics.operation());
            let mut response = render(response, &headers.context);
            headers.add_to(response.response_mut());
            record(response.status(), metrics, started, &headers.context);
            if is_http_10 && response.response().body().size() == BodySize::Stream {
                end_by_closing(response.response_mut());
            }
            Ok(response.map_body(|_, body| outgoing_body(body, is_head, in_flight)))
        }
        Err(error) => {
            let response = error_response(&error, &headers.context);
            record(response.status(), metrics, started, &headers.context);
            Err(RenderedError::new(response, headers).into())
        }
    }
}

/// Whether a request was HEAD. Handlers see it as GET; those whose GET changes something leave that out.
#[derive(Clone, Copy, Debug)]
pub struct IsHead(pub bool);

impl FromRequest for IsHead {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(request.extensions().get().copied().unwrap_or(Self(false))))
    }
}

/// Sends a body of unknown length without chunks, which HTTP/1.0 does not have: the connection ends with it (RFC 9112,
/// section 6.3).
fn end_by_closing(response: &mut HttpResponse) {
    response.head_mut().no_chunking(true);
    response.head_mut().set_connection_type(ConnectionType::Close);
}

/// Turns HEAD into GET. Returns whether it did.
fn turn_head_into_get(request: &mut ServiceRequest) -> bool {
    let is_head = request.method() == Method::HEAD;
    if is_head {
        request.head_mut().method = Method::GET;
        // Ranges are defined for GET only (RFC 9110, section 14.2).
        request.headers_mut().remove(header::RANGE);
        request.extensions_mut().insert(IsHead(true));
    }
    is_head
}

/// Calls the inner layers within the request's trace. A panic becomes an internal error.
async fn call(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
    context: &RequestContext,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let called = traces::in_context(context.traced.clone(), next.call(request));
    match AssertUnwindSafe(called).catch_unwind().await {
        Ok(result) => result.map(ServiceResponse::map_into_boxed_body),
        // The panic hook of `telemetry::logs` logs the place.
        Err(_) => Err(Error::Internal(anyhow::anyhow!("a panic")).into()),
    }
}

/// Writes responses that refuse a request, because of rights or limits, to the security log.
fn log_refusal(response: &ServiceResponse<BoxBody>, operation: &str) {
    let request = response.request();
    let Some(log) = request.app_data::<web::Data<RefusalLog>>() else { return };
    let admits = |event| log.admits(ClientAddress::of(request).0, event, operation);
    match response.status() {
        StatusCode::FORBIDDEN if admits("access_refused") => {
            crate::security_event!("access_refused", operation, "a request was refused for lack of rights");
        }
        StatusCode::TOO_MANY_REQUESTS if admits("limit_reached") => {
            crate::security_event!("limit_reached", operation, "a request was refused by a limit");
        }
        _ => {}
    }
}

/// Logs, counts and traces the response.
fn record(status: StatusCode, metrics: &RequestMetrics, started: Instant, context: &RequestContext) {
    let seconds = started.elapsed().as_secs_f64();
    let ms = (seconds * 1e6).round() / 1e3;
    tracing::info!(status = status.as_u16(), operation = metrics.operation(), ms, "request completed");
    metrics.record(status.as_u16(), seconds);
    traces::end_request(context.traced.as_ref(), status.as_u16());
}

/// Empties the body of a response to HEAD. Other bodies keep the request in flight until they end.
fn outgoing_body(body: BoxBody, is_head: bool, in_flight: Option<InFlightGuard>) -> BoxBody {
    match in_flight {
        _ if is_head => BoxBody::new(HeadBody(body.size())),
        Some(guard) => guard.track(body),
        None => body,
    }
}

/// The body of a response to HEAD: it has the size of the response to GET and no bytes.
struct HeadBody(BodySize);

impl MessageBody for HeadBody {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        self.0
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<web::Bytes, Self::Error>>> {
        Poll::Ready(None)
    }
}
