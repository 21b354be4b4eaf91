//! Metrics of smaller images (docs/metrics.md).

use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};

/// The outcomes of decodes.
const OUTCOMES: [&str; 4] = ["made", "too_large", "undecodable", "failed"];

/// Decodes with this outcome.
pub(super) fn decodes(outcome: &'static str) -> Counter {
    counter!("drover_image_decodes_total", "outcome" => outcome)
}

/// Requests that were refused because too many wait.
pub(super) fn refused() -> Counter {
    counter!("drover_image_decodes_refused_total")
}

/// Duration of decodes.
pub(super) fn seconds() -> Histogram {
    histogram!("drover_image_decode_seconds")
}

fn waiting() -> Gauge {
    gauge!("drover_image_decodes_waiting")
}

/// Counts a request as waiting until it is dropped.
pub(super) struct Waiting(Gauge);

impl Waiting {
    pub(super) fn begin() -> Self {
        let gauge = waiting();
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// Describes the metrics and initializes them to 0.
pub(crate) fn register_metrics() {
    describe_counter!("drover_image_decodes_total", "Images decoded to make smaller copies, by outcome");
    describe_counter!(
        "drover_image_decodes_refused_total",
        "Requests refused because too many wait for a decode"
    );
    describe_gauge!("drover_image_decodes_waiting", "Requests that wait for a smaller copy, or make one");
    describe_histogram!("drover_image_decode_seconds", "Duration of making smaller copies, without waiting");
    for outcome in OUTCOMES {
        decodes(outcome).increment(0);
    }
    refused().increment(0);
    waiting().set(0.0);
    let _ = seconds();
}
