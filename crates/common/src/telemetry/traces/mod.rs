//! Traces by OpenTelemetry: which requests are traced, and their spans. What is not traced, without a collector everything,
//! passes `traceparent` on as it came: its own span would be found by nobody.

mod export;

use std::sync::Arc;

use opentelemetry::Context;
use opentelemetry::context::FutureExt;
use opentelemetry::global::{BoxedSpan, BoxedTracer};
use opentelemetry::trace::{Span, SpanContext, SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use reqwest::StatusCode;
use url::Url;
use uuid::Uuid;

pub use database::spans::{client_span, record_error};
pub(crate) use export::Export;
use futures_util::future::Either;
pub use opentelemetry::KeyValue;

use crate::config;

/// What begins traces. A clone is the same.
#[derive(Clone, Default)]
pub struct Traces(Option<(Arc<BoxedTracer>, f64)>);

impl Traces {
    /// As configured, and what sends the spans, until it is told to stop.
    ///
    /// # Errors
    /// One sentence that names the setting to change.
    pub(crate) fn open(config: &config::Traces, service: &'static str) -> anyhow::Result<(Self, Export)> {
        config.check()?;
        let Some(url) = &config.url else { return Ok((Self::default(), Export::default())) };
        let resource = Resource::builder().with_service_name(service).with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", Uuid::new_v4().to_string()),
        ]);
        let resource = resource.build();
        let (queue, export) = export::start(url, &config.headers, &resource)?;
        // Whoever gets here was drawn, or their parent was.
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::AlwaysOn)
            .with_span_processor(queue)
            .with_resource(resource)
            .build();
        let tracer = BoxedTracer::new(Box::new(provider.tracer("drover")));
        Ok((Self(Some((Arc::new(tracer), config.ratio))), export))
    }

    /// The work of a request to an operation, if it is traced: as its parent decided, or by lot.
    pub(crate) fn request(
        &self,
        parent: Option<&SpanContext>,
        method: &str,
        route: Option<&str>,
    ) -> Option<Context> {
        let is_operation = route.is_some_and(|route| route.starts_with("/v1/"));
        if !is_operation || !parent.map_or_else(|| self.draws(), SpanContext::is_sampled) {
            return None;
        }
        let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
        let known = known.into_iter().find(|known| *known == method);
        let name = [known.unwrap_or("HTTP"), route.unwrap_or_default()].join(" ");
        let mut attributes = vec![
            KeyValue::new("http.request.method", known.unwrap_or("_OTHER")),
            KeyValue::new("url.scheme", "http"),
        ];
        attributes.extend(route.map(|route| KeyValue::new("http.route", route.to_owned())));
        let parent = parent
            .map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent.clone()));
        self.begin(name.trim_end().to_owned(), SpanKind::Server, attributes, &parent)
    }

    /// Work that no request waits for, if the lot falls on it.
    pub fn background(&self, name: &'static str) -> Option<Context> {
        if self.draws() {
            self.begin(name.to_owned(), SpanKind::Internal, Vec::new(), &Context::new())
        } else {
            None
        }
    }

    fn draws(&self) -> bool {
        self.0.as_ref().is_some_and(|(_, ratio)| rand::random::<f64>() < *ratio)
    }

    fn begin(
        &self,
        name: String,
        kind: SpanKind,
        attributes: Vec<KeyValue>,
        parent: &Context,
    ) -> Option<Context> {
        let (tracer, _) = self.0.as_ref()?;
        let span = tracer.span_builder(name).with_kind(kind).with_attributes(attributes);
        let span = span.start_with_context(&**tracer, parent);
        Some(parent.with_span(span).with_value(tracer.clone()))
    }
}

/// Runs work within its context, if it is traced.
pub fn within<F: Future>(work: Option<Context>, future: F) -> impl Future<Output = F::Output> {
    match work {
        Some(work) => Either::Left(future.with_context(work)),
        None => Either::Right(future),
    }
}

/// Says that the work that runs here failed, if it is traced.
pub fn failed_here(error: &'static str) {
    Context::map_current(|work| {
        work.span().set_attribute(KeyValue::new("error.type", error));
        work.span().set_status(Status::error(""));
    });
}

/// Ends the span of a request.
pub(crate) fn answered(work: Option<&Context>, status: u16) {
    let Some(work) = work else { return };
    let span = work.span();
    span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
    if status >= 500 {
        span.set_attribute(KeyValue::new("error.type", status.to_string()));
        span.set_status(Status::error(""));
    }
    span.end();
}

/// The span of a call over HTTP, if the work that makes it is traced. What is asked for may tell of people: only where.
pub fn call(method: &'static str, url: &Url) -> Option<BoxedSpan> {
    client_span(method, || {
        [
            KeyValue::new("http.request.method", method),
            KeyValue::new("server.address", url.host_str().unwrap_or_default().to_owned()),
            KeyValue::new("server.port", i64::from(url.port_or_known_default().unwrap_or_default())),
        ]
    })
}

/// What was answered to such a call; nothing where nobody answered.
pub fn called(span: &mut Option<BoxedSpan>, status: Option<StatusCode>) {
    let Some(status) = status else { return record_error(span, "no_answer") };
    if let Some(span) = span {
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
    }
    if status.is_client_error() || status.is_server_error() {
        record_error(span, status.as_str().to_owned());
    }
}

/// The header by which a traced call is the parent of what it causes.
pub(crate) fn traceparent(span: &BoxedSpan) -> String {
    let own = span.span_context();
    format!("00-{}-{}-01", own.trace_id(), own.span_id())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use wiremock::matchers::any;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;
    use crate::telemetry;

    fn counted(outcome: &str) -> u64 {
        let line = format!("drover_traces_spans_total{{outcome=\"{outcome}\"}} ");
        let text = telemetry::metrics();
        text.lines().find_map(|known| known.strip_prefix(&line)?.parse().ok()).unwrap_or_default()
    }

    fn open(url: &str) -> (Traces, Export) {
        telemetry::recorder();
        let url = Some(url.parse().unwrap());
        Traces::open(&config::Traces { url, ratio: 1.0, headers: Vec::new() }, "test").unwrap()
    }

    #[test]
    fn a_collector_that_hangs_or_is_away_costs_spans_and_nothing_else() {
        testkit::block_on(async {
            let hanging = MockServer::start().await;
            let late = ResponseTemplate::new(200).set_delay(Duration::from_secs(3600));
            Mock::given(any()).respond_with(late).mount(&hanging).await;
            let (traces, export) = open(&format!("{}/v1/traces", hanging.uri()));
            let begun = Instant::now();
            for _ in 0..6000 {
                drop(traces.background("work").unwrap());
            }
            assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
            assert_eq!(counted("dropped"), 6000 - 4096);
            let stopped = Instant::now();
            export.stop().await;
            assert!(stopped.elapsed() < Duration::from_secs(6), "{:?}", stopped.elapsed());

            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let (traces, export) = open(&format!("http://{free}/v1/traces"));
            let failed = counted("failed");
            drop(traces.background("work").unwrap());
            export.stop().await;
            assert_eq!((counted("failed"), counted("sent")), (failed + 1, 0));
        });
    }
}
