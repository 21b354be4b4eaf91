//! The metrics of requests and of calls to other services (`docs/metrics.md`).
//!
//! Metric handles are created once, because looking one up by name and labels costs more than recording a value.
//! Counters start at 0: Prometheus' `rate` misses the first event of a counter that appears with it.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use metrics::{describe_counter, describe_gauge, describe_histogram};
use parking_lot::RwLock;

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
