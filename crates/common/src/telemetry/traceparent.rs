//! The `traceparent` header of [W3C Trace Context](https://www.w3.org/TR/trace-context/), read and written by
//! OpenTelemetry's propagator. `tracestate` is neither read nor sent.

use actix_web::http::header::HeaderName;
use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::trace::{SpanContext, TraceContextExt};
use opentelemetry_sdk::propagation::TraceContextPropagator;

/// Header with the trace and the parent span of a request.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Returns the header that names this span as the parent.
pub(super) fn format(span: &SpanContext) -> String {
    let context = Context::new().with_remote_span_context(span.clone());
    let mut carrier = Carrier(String::new());
    TraceContextPropagator::new().inject_context(&context, &mut carrier);
    carrier.0
}

/// Parses the header. Returns `None` if it is invalid.
pub(super) fn parse(header: &str) -> Option<SpanContext> {
    if !has_valid_fields(header) {
        return None;
    }
    let carrier = Carrier(header.to_owned());
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    let parent = context.span().span_context().clone();
    parent.is_valid().then_some(parent)
}

/// Checks the widths and digits of the fields. The propagator also accepts shorter fields, a plus sign in front of a
/// number, an upper-case version and a hyphen at the end, all of which the standard forbids.
fn has_valid_fields(header: &str) -> bool {
    let is_hex = |field: &str, digits: usize| {
        field.len() == digits && field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let fields: Vec<_> = header.split('-').collect();
    let [version, trace_id, parent_id, flags, additional @ ..] = &fields[..] else { return false };
    is_hex(version, 2)
        && is_hex(trace_id, 32)
        && is_hex(parent_id, 16)
        && is_hex(flags, 2)
        // Only versions after 00 may have more fields.
        && (*version != "00" || additional.is_empty())
}

/// Carries the value of `traceparent`, and no other header.
struct Carrier(String);

impl Extractor for Carrier {
    fn get(&self, name: &str) -> Option<&str> {
        (name == TRACEPARENT.as_str()).then_some(&self.0)
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent"]
    }
}

impl Injector for Carrier {
    fn set(&mut self, name: &str, value: String) {
        if name == TRACEPARENT.as_str() {
            self.0 = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT_ID: &str = "b7ad6b7169203331";

    #[test]
    fn parses_valid_headers() {
        let parsed = |header: &str| {
            parse(header).map(|p| (p.trace_id().to_string(), p.span_id().to_string(), p.is_sampled()))
        };
        for (header, sampled) in [
            (format!("00-{TRACE_ID}-{PARENT_ID}-01"), true),
            (format!("00-{TRACE_ID}-{PARENT_ID}-00"), false),
            (format!("00-{TRACE_ID}-{PARENT_ID}-03"), true),
            (format!("00-{TRACE_ID}-{PARENT_ID}-02"), false),
            (format!("01-{TRACE_ID}-{PARENT_ID}-00-more"), false),
            (format!("01-{TRACE_ID}-{PARENT_ID}-01-"), true),
        ] {
            let expected = Some((TRACE_ID.to_owned(), PARENT_ID.to_owned(), sampled));
            assert_eq!(parsed(&header), expected, "{header}");
        }
    }

    #[test]
    fn rejects_invalid_headers() {
        for header in [
            String::new(),
            "00".into(),
            "ff-0-0-0".into(),
            format!("00-{}-{PARENT_ID}-01", "0".repeat(32)),
            format!("00-{TRACE_ID}-{}-01", "0".repeat(16)),
            format!("00-{TRACE_ID}-{PARENT_ID}-01-more"),
            format!("00-{TRACE_ID}-{PARENT_ID}-01-"),
            format!("ff-{TRACE_ID}-{PARENT_ID}-01"),
            format!("FE-{TRACE_ID}-{PARENT_ID}-01"),
            format!("0-{TRACE_ID}-{PARENT_ID}-01"),
            format!("+0-{TRACE_ID}-{PARENT_ID}-01"),
            format!("00-{}-{PARENT_ID}-01", &TRACE_ID[1..]),
            format!("00-+{}-{PARENT_ID}-01", &TRACE_ID[1..]),
            format!("00-{TRACE_ID}-{}-01", &PARENT_ID[1..]),
            format!("00-{TRACE_ID}-{PARENT_ID}-1"),
            format!("00-{}-{PARENT_ID}-01", TRACE_ID.to_uppercase()),
            format!("00-{TRACE_ID}-{PARENT_ID}-0A"),
            format!(" 00-{TRACE_ID}-{PARENT_ID}-01"),
        ] {
            assert_eq!(parse(&header), None, "{header}");
        }
    }

    #[test]
    fn formats_what_it_parses() {
        for flags in ["00", "01"] {
            let header = format!("00-{TRACE_ID}-{PARENT_ID}-{flags}");
            assert_eq!(format(&parse(&header).unwrap()), header);
        }
    }
}
