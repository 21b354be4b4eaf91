//! Spans of calls that a traced piece of work makes.
//!
//! Work that is traced has a context with its span and with the tracer that began it: so calls know of both without being
//! told, several services may run in one process, and of all other work nothing is made and next to nothing asked.

use std::borrow::Cow;
use std::sync::Arc;

use opentelemetry::global::{BoxedSpan, BoxedTracer};
use opentelemetry::trace::{Span, SpanKind, Status, Tracer};
use opentelemetry::{Context, KeyValue, Value};

/// A span of a call to the outside, if the work that makes it is traced. Dropped, it has ended.
pub fn client_span<const N: usize>(
    name: impl Into<Cow<'static, str>>,
    attributes: impl FnOnce() -> [KeyValue; N],
) -> Option<BoxedSpan> {
    Context::map_current(|work| {
        let tracer = work.get::<Arc<BoxedTracer>>()?;
        let span = tracer.span_builder(name).with_kind(SpanKind::Client).with_attributes(attributes());
        Some(span.start_with_context(&**tracer, work))
    })
}

/// Says of a span that its call failed, in a word of the code's own choosing.
pub fn failed(span: &mut Option<BoxedSpan>, error: impl Into<Value>) {
    if let Some(span) = span {
        span.set_attribute(KeyValue::new("error.type", error));
        span.set_status(Status::error(""));
    }
}
