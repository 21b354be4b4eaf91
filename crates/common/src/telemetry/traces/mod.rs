//! Traces by OpenTelemetry: decides which requests are traced, and creates their spans. Untraced requests pass the
//! `traceparent` header on unchanged. Without a collector nothing is traced.

mod export;

use std::sync::Arc;

use futures_util::future::Either;
use opentelemetry::Context;
use opentelemetry::context::FutureExt;
use opentelemetry::global::{BoxedSpan, BoxedTracer};
use opentelemetry::trace::{Span, SpanContext, SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use reqwest::StatusCode;
use url::Url;
use uuid::Uuid;

pub use database::{client_span, record_error};
pub(crate) use export::Export;
pub use opentelemetry::KeyValue;

use super::traceparent;
use crate::config;

/// Begins traces. Clones share the tracer.
#[derive(Clone, Default)]
pub struct Traces(Option<Enabled>);

#[derive(Clone)]
struct Enabled {
    tracer: Arc<BoxedTracer>,
    /// The share of requests that are traced, 0 to 1.
    ratio: f64,
}

impl Traces {
    /// Creates the tracer, and the export of its spans, which runs until it is stopped.
    ///
    /// # Errors
    /// Names the setting to change.
    pub(crate) fn open(config: &config::Traces, service: &'static str) -> anyhow::Result<(Self, Export)> {
        config.check()?;
        let Some(url) = &config.url else { return Ok((Self::default(), Export::default())) };
        let resource = Resource::builder().with_service_name(service).with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", Uuid::new_v4().to_string()),
        ]);
        let resource = resource.build();
        let (queue, export) = export::start(url, &config.headers, &resource)?;
        let provider = SdkTracerProvider::builder()
            // `Traces` samples before it creates a span.
            .with_sampler(Sampler::AlwaysOn)
            .with_span_processor(queue)
            .with_resource(resource)
            .build();
        let tracer = Arc::new(BoxedTracer::new(Box::new(provider.tracer("drover"))));
        Ok((Self(Some(Enabled { tracer, ratio: config.ratio })), export))
    }

    /// Begins the span of a request if it is traced: an operation whose parent is sampled, or which has no parent and
    /// is sampled itself. Returns the context that the request's work must run in.
    pub(super) fn begin_request(
        &self,
        parent: Option<&SpanContext>,
        method: &str,
        route: Option<&str>,
    ) -> Option<Context> {
        let route = route.filter(|route| route.starts_with("/v1/"))?;
        if !parent.map_or_else(|| self.sample(), SpanContext::is_sampled) {
            return None;
        }
        let known_methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
        let known = known_methods.into_iter().find(|known| *known == method);
        let name = format!("{} {route}", known.unwrap_or("HTTP"));
        let attributes = vec![
            KeyValue::new("http.request.method", known.unwrap_or("_OTHER")),
            KeyValue::new("url.scheme", "http"),
            KeyValue::new("http.route", route.to_owned()),
        ];
        let parent = parent
            .map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent.clone()));
        self.begin(name, SpanKind::Server, attributes, &parent)
    }

    /// Begins the span of background work if it is sampled. Returns the context that the work must run in.
    pub fn begin_background(&self, name: &'static str) -> Option<Context> {
        if !self.sample() {
            return None;
        }
        self.begin(name.to_owned(), SpanKind::Internal, Vec::new(), &Context::new())
    }

    fn sample(&self) -> bool {
        self.0.as_ref().is_some_and(|enabled| rand::random::<f64>() < enabled.ratio)
    }

    fn begin(
        &self,
        name: String,
        kind: SpanKind,
        attributes: Vec<KeyValue>,
        parent: &Context,
    ) -> Option<Context> {
        let Enabled { tracer, .. } = self.0.as_ref()?;
        let span = tracer.span_builder(name).with_kind(kind).with_attributes(attributes);
        let span = span.start_with_context(&**tracer, parent);
        Some(parent.with_span(span).with_value(tracer.clone()))
    }
}

/// Runs a future in its context, if it is traced.
pub fn in_context<F: Future>(context: Option<Context>, future: F) -> impl Future<Output = F::Output> {
    match context {
        Some(context) => Either::Left(future.with_context(context)),
        None => Either::Right(future),
    }
}

/// Marks the span of the current work as failed, if it is traced.
pub fn mark_current_failed(error: &'static str) {
    Context::map_current(|context| {
        context.span().set_attribute(KeyValue::new("error.type", error));
        context.span().set_status(Status::error(""));
    });
}

/// Ends the span of a request, if it is traced.
pub(crate) fn end_request(context: Option<&Context>, status: u16) {
    let Some(context) = context else { return };
    let span = context.span();
    span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
    if status >= 500 {
        span.set_attribute(KeyValue::new("error.type", status.to_string()));
        span.set_status(Status::error(""));
    }
    span.end();
}

/// Begins the span of an outgoing HTTP call, if the current work is traced. Only the host and port of the URL are
/// recorded, because its path and query may contain personal data.
pub fn http_client_span(method: &'static str, url: &Url) -> Option<BoxedSpan> {
    client_span(method, || {
        [
            KeyValue::new("http.request.method", method),
            KeyValue::new("server.address", url.host_str().unwrap_or_default().to_owned()),
            KeyValue::new("server.port", i64::from(url.port_or_known_default().unwrap_or_default())),
        ]
    })
}

/// Records the status of the response to an outgoing HTTP call; `None` if there was no response.
pub fn record_response(span: &mut Option<BoxedSpan>, status: Option<StatusCode>) {
    let Some(status) = status else { return record_error(span, "no_answer") };
    if let Some(span) = span {
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
    }
    if status.is_client_error() || status.is_server_error() {
        record_error(span, status.as_str().to_owned());
    }
}

/// Returns the `traceparent` header of an outgoing call with this span.
pub(crate) fn traceparent(span: &BoxedSpan) -> String {
    traceparent::format(span.span_context())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use wiremock::matchers::any;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;
    use crate::telemetry::metrics;

    fn span_count(outcome: &str) -> u64 {
        let name = format!("drover_traces_spans_total{{outcome=\"{outcome}\"}} ");
        let metrics = metrics::render();
        metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or_default()
    }

    fn open(url: &str) -> (Traces, Export) {
        metrics::install();
        let url = Some(url.parse().unwrap());
        Traces::open(&config::Traces { url, ratio: 1.0, headers: Vec::new() }, "test").unwrap()
    }

    #[test]
    fn an_unavailable_collector_loses_spans_and_blocks_nothing() {
        testkit::block_on(async {
            let hanging = MockServer::start().await;
            let late = ResponseTemplate::new(200).set_delay(Duration::from_secs(3600));
            Mock::given(any()).respond_with(late).mount(&hanging).await;
            let (traces, export) = open(&format!("{}/v1/traces", hanging.uri()));
            let begun = Instant::now();
            for _ in 0..6000 {
                drop(traces.begin_background("work").unwrap());
            }
            assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
            assert_eq!(span_count("dropped"), 6000 - 4096);
            let stopped = Instant::now();
            export.stop().await;
            assert!(stopped.elapsed() < Duration::from_secs(6), "{:?}", stopped.elapsed());

            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let (traces, export) = open(&format!("http://{free}/v1/traces"));
            let failed = span_count("failed");
            drop(traces.begin_background("work").unwrap());
            export.stop().await;
            assert_eq!((span_count("failed"), span_count("sent")), (failed + 1, 0));
        });
    }
}
