//! Which request this is: its id and its place in a trace, kept across services.

use actix_web::HttpMessage;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{HeaderMap, HeaderName};
use uuid::Uuid;

use crate::api::{Api, Operation};

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
    /// This request's own 16 hex digits.
    pub span_id: String,
    sampled: bool,
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
    pub(crate) fn new(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
        let fresh = || Uuid::new_v4().simple().to_string();
        let id = text(REQUEST_ID)
            .filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()))
            .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
        let (trace_id, sampled) = text(TRACEPARENT).and_then(parse).unwrap_or_else(|| (fresh(), false));
        Self { id, trace_id, span_id: fresh()[..16].to_owned(), sampled }
    }

    /// The header for an outgoing call, with this request as the parent.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-0{}", self.trace_id, self.span_id, u8::from(self.sampled))
    }

    pub(crate) fn of(request: &ServiceRequest) -> Self {
        request.extensions().get::<Self>().cloned().unwrap_or_else(|| Self::new(request.headers()))
    }
}

/// `00-<trace id>-<parent id>-<flags>`; all-zero ids are invalid, later versions may carry more fields.
fn parse(header: &str) -> Option<(String, bool)> {
    let parts: Vec<_> = header.split('-').collect();
    let [version, trace, parent, flags, ..] = parts[..] else { return None };
    let hex =
        |s: &str, len| s.len() == len && s.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let valid = hex(version, 2) && version != "ff" && hex(trace, 32) && hex(parent, 16) && hex(flags, 2);
    let nonzero = |s: &str| s.bytes().any(|b| b != b'0');
    let flags = u8::from_str_radix(flags, 16).ok()?;
    (valid && nonzero(trace) && nonzero(parent) && (version != "00" || parts.len() == 4))
        .then(|| (trace.to_owned(), flags & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traceparent() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        assert_eq!(parse(&format!("00-{trace}-b7ad6b7169203331-01")), Some((trace.to_owned(), true)));
        assert_eq!(parse(&format!("01-{trace}-b7ad6b7169203331-00-more")), Some((trace.to_owned(), false)));
        for bad in ["", "00", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "ff-0-0-0"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(parse(&format!("00-{trace}-b7ad6b7169203331-01-more")), None);
    }
}
