//! Export of spans to the collector (OTLP over HTTP): in batches, from a bounded queue that never blocks. Spans are
//! dropped and counted while the collector is unavailable or too slow.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use metrics::Counter;
use opentelemetry::Context;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use prost::Message;
use reqwest::header::CONTENT_TYPE;
use secrecy::SecretString;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use crate::config::headers;
use crate::http;
use crate::telemetry::metrics::exported_spans;

/// Capacity of the queue. A span has some hundred bytes.
const MAX_QUEUED_SPANS: usize = 4096;
/// Number of spans with which a batch is sent.
const MAX_BATCH_SPANS: usize = 512;
/// Time after its first span when a smaller batch is sent.
const BATCH_DELAY: Duration = Duration::from_secs(2);
/// Timeout of one request to the collector, and at shutdown of all remaining requests together.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// The queue of ended spans.
#[derive(Debug)]
pub(super) struct Queue {
    spans: mpsc::Sender<SpanData>,
    dropped: Counter,
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.spans.try_send(span).is_err() {
            self.dropped.increment(1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// The running export; empty if no collector is configured.
#[derive(Default)]
pub(crate) struct Export(Option<Task>);

struct Task {
    handle: JoinHandle<()>,
    stop: Arc<Notify>,
}

impl Export {
    /// Closes the queue and sends its spans. Spans that are not sent within 3 s are lost.
    pub(crate) async fn stop(self) {
        let Some(Task { mut handle, stop }) = self.0 else { return };
        stop.notify_one();
        if timeout(EXPORT_TIMEOUT, &mut handle).await.is_err() {
            handle.abort();
        }
    }
}

/// Starts the export to the collector at `url`, with the configured headers.
pub(super) fn start(
    url: &Url,
    lines: &[SecretString],
    resource: &Resource,
) -> anyhow::Result<(Queue, Export)> {
    let client = http::builder(EXPORT_TIMEOUT).default_headers(headers(lines)?);
    let collector = Collector {
        http: client.build().context("the HTTP client for traces could not be created")?,
        url: url.clone(),
        resource: resource.into(),
        sent: exported_spans("sent"),
        failed: exported_spans("failed"),
        is_accepting: true,
    };
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_SPANS);
    let stop = Arc::new(Notify::new());
    let handle = tokio::spawn(collector.run(receiver, stop.clone()));
    let queue = Queue { spans: sender, dropped: exported_spans("dropped") };
    Ok((queue, Export(Some(Task { handle, stop }))))
}

struct Collector {
    http: reqwest::Client,
    url: Url,
    resource: ResourceAttributesWithSchema,
    sent: Counter,
    failed: Counter,
    /// Whether the collector accepted the last batch.
    is_accepting: bool,
}

impl Collector {
    async fn run(mut self, mut spans: mpsc::Receiver<SpanData>, stop: Arc<Notify>) {
        let mut batch = Vec::new();
        while !(spans.is_closed() && spans.is_empty()) {
            tokio::select! {
                () = collect_batch(&mut spans, &mut batch) => {}
                () = stop.notified() => spans.close(),
            }
            if !batch.is_empty() {
                self.send(std::mem::take(&mut batch)).await;
            }
        }
    }

    async fn send(&mut self, batch: Vec<SpanData>) {
        let count = batch.len() as u64;
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        let body = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
        let request = self.http.post(self.url.clone()).header(CONTENT_TYPE, "application/x-protobuf");
        let result = request.body(body).send().await.and_then(reqwest::Response::error_for_status);
        let was_accepting = std::mem::replace(&mut self.is_accepting, result.is_ok());
        if result.is_ok() { &self.sent } else { &self.failed }.increment(count);
        match result {
            Err(error) if was_accepting => {
                let error = anyhow::Error::new(error.without_url());
                tracing::warn!(error = format!("{error:#}"), "traces could not be sent to the collector");
            }
            Ok(_) if !was_accepting => tracing::info!("the collector accepts traces again"),
            _ => {}
        }
    }
}

/// Waits for a span, and then until the batch is complete.
async fn collect_batch(spans: &mut mpsc::Receiver<SpanData>, batch: &mut Vec<SpanData>) {
    spans.recv_many(batch, MAX_BATCH_SPANS).await;
    let deadline = Instant::now() + BATCH_DELAY;
    while batch.len() < MAX_BATCH_SPANS {
        match timeout_at(deadline, spans.recv_many(batch, MAX_BATCH_SPANS - batch.len())).await {
            Ok(more) if more > 0 => {}
            _ => return,
        }
    }
}
