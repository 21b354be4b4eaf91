//! Client spans of traced work.
//!
//! The OpenTelemetry context of traced work holds its span and the tracer that started it. There is no global tracer,
//! so several services can run in one process. Untraced work creates no spans.

use std::borrow::Cow;
use std::sync::Arc;

use opentelemetry::global::{BoxedSpan, BoxedTracer};
use opentelemetry::trace::{Span, SpanKind, Status, Tracer};
use opentelemetry::{Context, KeyValue, Value};

/// Starts a client span below the span of the current context. Returns `None` if the context is not traced, without
/// calling `attributes`. Dropping the span ends it.
pub fn client_span<const N: usize>(
    name: impl Into<Cow<'static, str>>,
    attributes: impl FnOnce() -> [KeyValue; N],
) -> Option<BoxedSpan> {
    Context::map_current(|context| {
        let tracer = context.get::<Arc<BoxedTracer>>()?;
        let span = tracer.span_builder(name).with_kind(SpanKind::Client).with_attributes(attributes());
        Some(span.start_with_context(&**tracer, context))
    })
}

/// Marks the span as failed and sets `error.type`. `error` is a fixed word, never a message, which may hold personal
/// data.
pub fn record_error(span: &mut Option<BoxedSpan>, error: impl Into<Value>) {
    if let Some(span) = span {
        span.set_attribute(KeyValue::new("error.type", error));
        span.set_status(Status::error(""));
    }
}
