//! The metrics of requests, of calls to other services and of the process (`docs/metrics.md`).
//!
//! Metric handles are created once, because looking one up by name and labels costs more than recording a value.
//! Counters start at 0: Prometheus' `rate` misses the first event of a counter that appears with it.

use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use parking_lot::RwLock;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

/// Statuses whose counters exist before the first response.
const INITIAL_STATUSES: [u16; 3] = [200, 500, 503];

/// The metrics of one operation.
pub(crate) struct RequestMetrics {
    operation: String,
    seconds: Histogram,
    /// Few per operation.
    by_status: RwLock<Vec<(u16, Counter)>>,
}

impl RequestMetrics {
    /// Registers the metrics of an operation.
    pub(crate) fn new(operation: String) -> Self {
        let seconds = histogram!("drover_request_seconds", "operation" => operation.clone());
        let by_status = INITIAL_STATUSES.map(|status| (status, requests(&operation, status)));
        Self { operation, seconds, by_status: RwLock::new(by_status.into()) }
    }

    /// Records a response and the seconds until it began.
    pub(crate) fn record(&self, status: u16, seconds: f64) {
        self.seconds.record(seconds);
        let by_status = self.by_status.read();
        if let Some((_, counter)) = by_status.iter().find(|(known, _)| *known == status) {
            return counter.increment(1);
        }
        drop(by_status);
        let counter = requests(&self.operation, status);
        counter.increment(1);
        self.by_status.write().push((status, counter));
    }

    /// Returns the operation id; `none` for requests that match no operation.
    pub(crate) fn operation(&self) -> &str {
        &self.operation
    }
}

fn requests(operation: &str, status: u16) -> Counter {
    let labels = [("operation", operation.to_owned()), ("status", status.to_string())];
    counter!("drover_requests_total", &labels)
}

/// Requests in flight.
pub(crate) fn requests_in_flight() -> Gauge {
    gauge!("drover_requests_in_flight")
}

/// Responses with `Idempotency-Replayed`.
pub(crate) fn idempotency_replays() -> Counter {
    counter!("drover_idempotency_replays_total")
}

/// Open streams of events.
pub(crate) fn event_streams() -> Gauge {
    gauge!("drover_event_streams")
}

/// For how long events have waited for older transactions.
pub(crate) fn feed_lag_seconds() -> Gauge {
    gauge!("drover_feed_lag_seconds")
}

/// Requests refused with 429.
pub(crate) fn rate_limited_requests() -> Counter {
    counter!("drover_rate_limited_total")
}

/// Requests that could not be parsed, by the status of the response.
pub(crate) fn unparsed_requests(status: u16) -> Counter {
    counter!("drover_unparsed_requests_total", "status" => status.to_string())
}

/// Calls of the system service about files.
pub(crate) fn file_calls(outcome: &'static str) -> Counter {
    counter!("drover_files_calls_total", "outcome" => outcome)
}

/// Duration of these calls, with or without a response.
pub(crate) fn file_call_seconds() -> Histogram {
    histogram!("drover_files_call_seconds")
}

/// 1 while the circuit breaker of these calls is open.
pub(crate) fn file_breaker_open() -> Gauge {
    gauge!("drover_files_breaker_open")
}

/// Attempts to share files.
pub(crate) fn file_shares(outcome: &'static str) -> Counter {
    counter!("drover_files_shares_total", "outcome" => outcome)
}

/// Shares of files of all replicas that wait for a retry.
pub(crate) fn file_shares_due() -> Gauge {
    gauge!("drover_files_shares_due")
}

/// Spans for the trace collector.
pub(crate) fn exported_spans(outcome: &'static str) -> Counter {
    counter!("drover_traces_spans_total", "outcome" => outcome)
}

/// Describes the metrics, and registers those that every service has.
pub(crate) fn register_metrics(service: &'static str) {
    describe_counter!("drover_requests_total", "Responses, by operation and HTTP status");
    describe_histogram!(
        "drover_request_seconds",
        "Time until the head of the response was sent, by operation"
    );
    describe_gauge!("drover_requests_in_flight", "Requests in a handler or in a streamed response");
    describe_counter!(
        "drover_idempotency_replays_total",
        "POSTs answered with the stored response of their idempotency key"
    );
    describe_counter!("drover_rate_limited_total", "Requests refused with 429");
    describe_counter!(
        "drover_unparsed_requests_total",
        "Requests that are not HTTP or whose head is too long or too slow, by HTTP status"
    );
    describe_counter!("drover_files_calls_total", "Calls of the system service about files, by outcome");
    describe_histogram!("drover_files_call_seconds", "Duration of calls of the system service about files");
    describe_gauge!(
        "drover_files_breaker_open",
        "1 while the circuit breaker of calls of the system service is open"
    );
    describe_counter!(
        "drover_files_shares_total",
        "Attempts to share files of loads and listings, by outcome"
    );
    describe_gauge!("drover_files_shares_due", "Shares of files that wait for a retry, of all replicas");
    describe_counter!("drover_traces_spans_total", "Spans for the trace collector, by outcome");
    describe_gauge!("drover_build_info", "Always 1; the labels name the service and its version");
    idempotency_replays().increment(0);
    rate_limited_requests().increment(0);
    for status in [400, 408, 431] {
        unparsed_requests(status).increment(0);
    }
    for outcome in ["sent", "failed", "dropped"] {
        exported_spans(outcome).increment(0);
    }
    gauge!("drover_build_info", "service" => service, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// How often recorded values are aggregated.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);
/// Bounds of histograms of durations. The last one is the longest time that a request may wait for a dependency.
const SECONDS_BUCKETS: [f64; 15] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Bounds of histograms of sizes, in items.
const SIZE_BUCKETS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0];

/// Installs the recorder. Metrics that are recorded before are lost. Only the first call in a process has an effect.
pub(crate) fn install() {
    recorder();
}

/// Returns all metrics in Prometheus text format.
pub(crate) fn render() -> String {
    recorder().map(PrometheusHandle::render).unwrap_or_default() + &render_process()
}

/// Aggregates recorded values while the service runs. Without it every value of a histogram stays in memory until the
/// next [`render`].
pub(crate) async fn run_upkeep() {
    loop {
        tokio::time::sleep(UPKEEP_INTERVAL).await;
        if let Some(recorder) = recorder() {
            recorder.run_upkeep();
        }
    }
}

fn recorder() -> Option<&'static PrometheusHandle> {
    let install = || {
        PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS_BUCKETS)
            .and_then(|b| b.set_buckets_for_metric(Matcher::Suffix("_size".into()), &SIZE_BUCKETS))
            .and_then(PrometheusBuilder::install_recorder)
            .ok()
    };
    RECORDER.get_or_init(install).as_ref()
}

/// Start of the machine, in seconds since 1970. Read once: it shifts with the clock, which would look like a restart.
static BOOT_TIME: OnceLock<Option<f64>> = OnceLock::new();

/// Name, type, help text, value.
type Metric = (&'static str, &'static str, &'static str, f64);

/// Returns the metrics of the process (`process_*`) in Prometheus text format, from `/proc`; none on other systems than
/// Linux. They are not in the recorder, because processor time is a fraction of seconds and its counters are integers.
fn render_process() -> String {
    let lines = read().into_iter().flatten().map(|(name, kind, help, value)| {
        format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n\n")
    });
    lines.collect::<Vec<_>>().concat()
}

#[allow(clippy::cast_precision_loss, reason = "a metric is a float")]
fn read() -> Option<[Metric; 7]> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // proc(5) counts fields from 1. The second one is the name, which may contain anything, so parsing starts at the
    // third.
    let fields: Vec<f64> =
        stat.rsplit_once(')')?.1.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let (ticks, page) = (clock_ticks_per_second() as f64, page_size() as f64);
    let boot = (*BOOT_TIME.get_or_init(read_boot_time))?;
    let open_files = fs::read_dir("/proc/self/fd").ok()?.count() as f64;
    let max_files = getrlimit(Resource::Nofile).current.map_or(f64::INFINITY, |limit| limit as f64);
    Some([
        ("process_cpu_seconds_total", "counter", "Processor time used", (field(14)? + field(15)?) / ticks),
        ("process_resident_memory_bytes", "gauge", "Memory in use", field(24)? * page),
        ("process_virtual_memory_bytes", "gauge", "Memory mapped", field(23)?),
        ("process_open_fds", "gauge", "Open file descriptors", open_files),
        ("process_max_fds", "gauge", "Maximum number of open file descriptors", max_files),
        ("process_threads", "gauge", "Threads", field(20)?),
        (
            "process_start_time_seconds",
            "gauge",
            "Start time, in seconds since 1970",
            boot + field(22)? / ticks,
        ),
    ])
}

fn read_boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}
