//! The identity of a request: its id and its position in a trace. Calls to other services carry both
//! (`docs/api/conventions.md`, "Request ids and tracing").

use actix_web::HttpMessage;
use actix_web::dev::ServiceRequest;
use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::web::Data;
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use uuid::Uuid;

use super::traceparent;
pub(crate) use super::traceparent::TRACEPARENT;
use super::traces::Traces;

/// Header with the id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Length of the longest request id that a client may choose.
const MAX_REQUEST_ID_LENGTH: usize = 128;

/// The ids that every log line, error body and outgoing call of a request carries.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// `X-Request-Id` of the request if it is 1 to 128 visible ASCII characters; otherwise a new UUID.
    pub id: String,
    /// The request's own span if it is traced. Otherwise the span of its parent, because a span that is not exported
    /// must not become a parent. Without a parent it has random ids.
    span: SpanContext,
    /// The context that the work of a traced request runs in.
    pub(crate) traced: Option<Context>,
}

impl RequestContext {
    /// Creates the context of a new request to this route, and begins its span if it is to be traced.
    pub(crate) fn begin(request: &ServiceRequest, route: Option<&str>) -> Self {
        let parent = parent(request.headers());
        let traced = request
            .app_data::<Data<Traces>>()
            .and_then(|traces| traces.begin_request(parent.as_ref(), request.method().as_str(), route));
        Self::new(request.headers(), parent, traced)
    }

    /// Returns the context that [`begin`](Self::begin) created, or one without a span if there is none.
    pub(crate) fn of(request: &ServiceRequest) -> Self {
        request.extensions().get::<Self>().cloned().unwrap_or_else(|| {
            let headers = request.headers();
            Self::new(headers, parent(headers), None)
        })
    }

    /// Returns the context of work that no request caused.
    pub(crate) fn without_request() -> Self {
        Self::new(&HeaderMap::new(), None, None)
    }

    fn new(headers: &HeaderMap, parent: Option<SpanContext>, traced: Option<Context>) -> Self {
        let own = traced.as_ref().map(|context| context.span().span_context().clone());
        Self {
            id: requested_id(headers).unwrap_or_else(|| Uuid::now_v7().to_string()),
            span: own.or(parent).unwrap_or_else(random_span),
            traced,
        }
    }

    /// Returns the id of the trace that the request belongs to.
    pub(crate) fn trace_id(&self) -> TraceId {
        self.span.trace_id()
    }

    /// Returns the `traceparent` header of an outgoing call.
    pub fn traceparent(&self) -> String {
        traceparent::format(&self.span)
    }
}

fn requested_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let is_valid =
        (1..=MAX_REQUEST_ID_LENGTH).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    is_valid.then(|| id.to_owned())
}

fn parent(headers: &HeaderMap) -> Option<SpanContext> {
    traceparent::parse(headers.get(TRACEPARENT)?.to_str().ok()?)
}

fn random_span() -> SpanContext {
    let ids = RandomIdGenerator::default();
    let (trace_id, span_id) = (ids.new_trace_id(), ids.new_span_id());
    SpanContext::new(trace_id, span_id, TraceFlags::NOT_SAMPLED, false, TraceState::NONE)
}
