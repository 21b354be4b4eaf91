//! The metrics of a circuit breaker.

use metrics::{Counter, Gauge, Histogram};

use crate::telemetry::metrics::{file_breaker_open, file_call_seconds, file_calls};

/// The metrics of a circuit breaker and its calls.
pub(super) struct BreakerMetrics {
    /// 1 while the breaker is open.
    pub(super) open: Gauge,
    /// Calls that were not made, because the breaker was open.
    pub(super) not_tried: Counter,
    pub(super) answered: Counter,
    pub(super) failed: Counter,
    /// Durations of calls.
    pub(super) seconds: Histogram,
}

impl BreakerMetrics {
    /// Registers the metrics of calls about files.
    pub(super) fn registered() -> Self {
        Self {
            open: file_breaker_open(),
            not_tried: file_calls("not_tried"),
            answered: file_calls("answered"),
            failed: file_calls("failed"),
            seconds: file_call_seconds(),
        }
    }

    /// Returns metrics that record nothing.
    pub(super) fn none() -> Self {
        Self {
            open: Gauge::noop(),
            not_tried: Counter::noop(),
            answered: Counter::noop(),
            failed: Counter::noop(),
            seconds: Histogram::noop(),
        }
    }
}
