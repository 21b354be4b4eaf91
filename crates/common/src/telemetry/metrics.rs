//! What is counted of requests. Each handle is looked for once: finding one by its name and labels costs more than
//! all else that is done with it. What a dashboard asks for is there with 0 before the first event, or that would be missed.

use std::sync::{PoisonError, RwLock};

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use metrics::{describe_counter, describe_gauge, describe_histogram};

/// Statuses of the answers that are shown before there was one.
const SHOWN: [u16; 3] = [200, 500, 503];

/// The metrics of one operation.
pub(crate) struct RequestMetrics {
    operation: String,
    seconds: Histogram,
    /// By status, of which an operation has a few.
    answers: RwLock<Vec<(u16, Counter)>>,
}

impl RequestMetrics {
    pub(crate) fn new(operation: String) -> Self {
        let seconds = histogram!("drover_request_seconds", "operation" => operation.clone());
        let answers = SHOWN.map(|status| (status, answered(&operation, status)));
        Self { operation, seconds, answers: RwLock::new(answers.into()) }
    }

    /// Counts an answer.
    pub(crate) fn record(&self, status: u16, seconds: f64) {
        self.seconds.record(seconds);
        let answers = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counter)) = answers.iter().find(|(known, _)| *known == status) {
            return counter.increment(1);
        }
        drop(answers);
        let counter = answered(&self.operation, status);
        counter.increment(1);
        self.answers.write().unwrap_or_else(PoisonError::into_inner).push((status, counter));
    }

    /// What the operation is called: `none` where there is none.
    pub(crate) fn operation(&self) -> &str {
        &self.operation
    }
}

fn answered(operation: &str, status: u16) -> Counter {
    let labels = [("operation", operation.to_owned()), ("status", status.to_string())];
    counter!("drover_requests_total", &labels)
}

/// Requests whose answers have not ended.
pub(crate) fn in_flight() -> Gauge {
    gauge!("drover_requests_in_flight")
}

/// Answers that were given before (`Idempotency-Replayed`).
pub(crate) fn replays() -> Counter {
    counter!("drover_idempotency_replays_total")
}

/// Requests refused with 429.
pub(crate) fn rate_limited() -> Counter {
    counter!("drover_rate_limited_total")
}

/// Requests that could not be parsed, by the status that they were answered with.
pub(crate) fn unparsed(status: u16) -> Counter {
    counter!("drover_unparsed_requests_total", "status" => status.to_string())
}

/// Calls of the system service, by how they went.
pub(crate) fn file_calls(outcome: &'static str) -> Counter {
    counter!("drover_files_calls_total", "outcome" => outcome)
}

/// How long they took, those without an answer too.
pub(crate) fn file_seconds() -> Histogram {
    histogram!("drover_files_call_seconds")
}

/// 1 from a row of failures until a call or probe succeeds.
pub(crate) fn breaker_open() -> Gauge {
    gauge!("drover_files_breaker_open")
}

/// Attempts to share files, by outcome.
pub(crate) fn file_shares(outcome: &'static str) -> Counter {
    counter!("drover_files_shares_total", "outcome" => outcome)
}

/// Shares of files that wait for a retry, of all replicas.
pub(crate) fn file_shares_due() -> Gauge {
    gauge!("drover_files_shares_due")
}

/// Spans of traces, by what became of them.
pub(crate) fn spans(outcome: &'static str) -> Counter {
    counter!("drover_traces_spans_total", "outcome" => outcome)
}

/// Says what each of them is, and shows what every service has.
pub(crate) fn register_metrics(service: &'static str) {
    describe_counter!("drover_requests_total", "Answers to requests, by operation and HTTP status");
    describe_histogram!("drover_request_seconds", "Time to the head of the answer, by operation");
    describe_gauge!("drover_requests_in_flight", "Requests whose answers have not ended");
    describe_counter!("drover_idempotency_replays_total", "POSTs answered as the first of their key was");
    describe_counter!("drover_rate_limited_total", "Requests refused with 429");
    describe_counter!(
        "drover_unparsed_requests_total",
        "Requests that are not HTTP or whose head is too long or too slow, by HTTP status"
    );
    describe_counter!("drover_files_calls_total", "Calls of the system service about files, by outcome");
    describe_histogram!("drover_files_call_seconds", "How long calls of the system service took");
    describe_gauge!(
        "drover_files_breaker_open",
        "1 from a row of failures of the system service until a call or probe succeeds"
    );
    describe_counter!(
        "drover_files_shares_total",
        "Attempts to share files of loads and listings, by outcome"
    );
    describe_gauge!("drover_files_shares_due", "Shares of files that wait for a retry, of all replicas");
    describe_counter!("drover_traces_spans_total", "Spans of traces, by what became of them");
    describe_gauge!("drover_build_info", "Always 1; what runs is in the labels");
    replays().increment(0);
    rate_limited().increment(0);
    for status in [400, 408, 431] {
        unparsed(status).increment(0);
    }
    for outcome in ["sent", "failed", "dropped"] {
        spans(outcome).increment(0);
    }
    gauge!("drover_build_info", "service" => service, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}
