//! Spans on their way to the collector (OTLP over HTTP): in batches, from a queue that is never waited for. A collector that
//! is away or hangs costs the spans, and they are counted.

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
use crate::telemetry::metrics::spans;

/// So many spans wait; one has some hundred bytes.
const MAX_QUEUED_SPANS: usize = 4096;
/// So many are sent at once, or what there is after a while.
const MAX_BATCH_SPANS: usize = 512;
const BATCH_DELAY: Duration = Duration::from_secs(2);
/// For an answer of the collector; and at a stop for all that is still to be sent.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Where spans go that have ended.
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

/// What sends them. Nothing where no traces are configured.
#[derive(Default)]
pub(crate) struct Export(Option<(JoinHandle<()>, Arc<Notify>)>);

impl Export {
    /// Takes no more spans and sends those that wait, as far as the collector is quick enough.
    pub(crate) async fn stop(self) {
        let Some((mut sending, stopping)) = self.0 else { return };
        stopping.notify_one();
        if timeout(EXPORT_TIMEOUT, &mut sending).await.is_err() {
            sending.abort();
        }
    }
}

/// Begins to send.
pub(super) fn start(
    url: &Url,
    names: &[SecretString],
    resource: &Resource,
) -> anyhow::Result<(Queue, Export)> {
    let client = crate::clients::http::builder(EXPORT_TIMEOUT).default_headers(headers(names)?);
    let collector = Collector {
        http: client.build().context("no client for traces")?,
        url: url.clone(),
        resource: resource.into(),
        sent: spans("sent"),
        failed: spans("failed"),
        well: true,
    };
    let (send, receive) = mpsc::channel(MAX_QUEUED_SPANS);
    let stopping = Arc::new(Notify::new());
    let sending = tokio::spawn(collector.run(receive, stopping.clone()));
    Ok((Queue { spans: send, dropped: spans("dropped") }, Export(Some((sending, stopping)))))
}

struct Collector {
    http: reqwest::Client,
    url: Url,
    resource: ResourceAttributesWithSchema,
    sent: Counter,
    failed: Counter,
    /// The last batch was taken.
    well: bool,
}

impl Collector {
    async fn run(mut self, mut spans: mpsc::Receiver<SpanData>, stopping: Arc<Notify>) {
        let mut batch = Vec::new();
        while !(spans.is_closed() && spans.is_empty()) {
            tokio::select! {
                () = gather(&mut spans, &mut batch) => {}
                () = stopping.notified() => spans.close(),
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
        let taken = request.body(body).send().await.and_then(reqwest::Response::error_for_status);
        let was_well = std::mem::replace(&mut self.well, taken.is_ok());
        if taken.is_ok() { &self.sent } else { &self.failed }.increment(count);
        match taken {
            Err(error) if was_well => {
                let error = anyhow::Error::new(error.without_url());
                tracing::warn!(error = format!("{error:#}"), "the collector does not take traces");
            }
            Ok(_) if !was_well => tracing::info!("the collector takes traces again"),
            _ => {}
        }
    }
}

/// Waits for one, and a while for more.
async fn gather(spans: &mut mpsc::Receiver<SpanData>, batch: &mut Vec<SpanData>) {
    spans.recv_many(batch, MAX_BATCH_SPANS).await;
    let until = Instant::now() + BATCH_DELAY;
    while batch.len() < MAX_BATCH_SPANS {
        match timeout_at(until, spans.recv_many(batch, MAX_BATCH_SPANS - batch.len())).await {
            Ok(more) if more > 0 => {}
            _ => return,
        }
    }
}
