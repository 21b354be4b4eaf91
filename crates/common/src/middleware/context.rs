//! Which request this is: its id and its place in a trace, kept across services.

use actix_web::HttpMessage;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::web::Data;
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use uuid::Uuid;

use crate::openapi::{Api, Operation};
use crate::telemetry::traces::Traces;

/// `X-Request-Id`
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// W3C trace context.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The ids that every log line, error body and outgoing call of a request carries.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// What the client sent, if it is 1..128 visible ASCII characters; else a new one.
    pub id: String,
    /// The 32 hex digits that all calls of one trace share.
    pub trace_id: String,
    /// This request's own 16 hex digits; its parent's where it is not traced, for nobody would find its own.
    pub span_id: String,
    sampled: bool,
    /// What its calls are told of, if it is traced.
    pub(crate) traced: Option<Context>,
}

/// The pattern of the route that a request will take, if it takes any.
#[derive(Clone, Default)]
pub(crate) struct Route(pub(crate) Option<String>);

impl Route {
    /// By the decoded path, as the router goes: `%63` is `c`.
    pub(crate) fn of(request: &ServiceRequest) -> Self {
        Self(request.resource_map().match_pattern(request.match_info().as_str()))
    }

    pub(crate) fn operation<'a>(&self, api: &'a Api, method: &Method) -> Option<&'a Operation> {
        api.operation(self.0.as_deref()?, method)
    }
}

impl RequestContext {
    /// Of a request to this route that has just come.
    pub(crate) fn begin(request: &ServiceRequest, route: &Route) -> Self {
        let traces = request.app_data::<Data<Traces>>();
        Self::new(request.headers(), |parent| {
            traces?.request(parent, request.method().as_str(), route.0.as_deref())
        })
    }

    fn new(headers: &HeaderMap, trace: impl FnOnce(Option<&SpanContext>) -> Option<Context>) -> Self {
        let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
        let fresh = || Uuid::new_v4().simple().to_string();
        let id = text(REQUEST_ID)
            .filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()))
            .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
        let parent = text(TRACEPARENT).and_then(parse);
        let traced = trace(parent.as_ref());
        let own = traced.as_ref().map(|work| work.span().span_context().clone());
        let (trace_id, span_id) = match (&own, &parent) {
            (Some(own), _) => (own.trace_id().to_string(), own.span_id().to_string()),
            (None, Some(parent)) => (parent.trace_id().to_string(), parent.span_id().to_string()),
            (None, None) => (fresh(), fresh()[..16].to_owned()),
        };
        let sampled = own.or(parent).is_some_and(|span| span.is_sampled());
        Self { id, trace_id, span_id, sampled, traced }
    }

    /// The header for an outgoing call, with this request as the parent.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-0{}", self.trace_id, self.span_id, u8::from(self.sampled))
    }

    pub(crate) fn of(request: &ServiceRequest) -> Self {
        request.extensions().get::<Self>().cloned().unwrap_or_else(|| Self::new(request.headers(), |_| None))
    }
}

/// `00-<trace id>-<parent id>-<flags>`; all-zero ids are invalid, later versions may carry more fields.
fn parse(header: &str) -> Option<SpanContext> {
    let parts: Vec<_> = header.split('-').collect();
    let [version, trace, parent, flags, ..] = parts[..] else { return None };
    let hex =
        |s: &str, len| s.len() == len && s.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let valid = hex(version, 2) && version != "ff" && hex(trace, 32) && hex(parent, 16) && hex(flags, 2);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()? & 1);
    let (trace, parent) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(parent).ok()?);
    let parent = SpanContext::new(trace, parent, flags, true, TraceState::NONE);
    (valid && parent.is_valid() && (version != "00" || parts.len() == 4)).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traceparent() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let known = |header: &str| parse(header).map(|p| (p.trace_id().to_string(), p.is_sampled()));
        assert_eq!(known(&format!("00-{trace}-b7ad6b7169203331-01")), Some((trace.to_owned(), true)));
        assert_eq!(known(&format!("01-{trace}-b7ad6b7169203331-00-more")), Some((trace.to_owned(), false)));
        for bad in ["", "00", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "ff-0-0-0"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(parse(&format!("00-{trace}-b7ad6b7169203331-01-more")), None);
    }
}
