//! Metrics of the database, and client spans of traced work.
//!
//! The handles of metrics are stored, since looking one up by name costs more than recording a value. The OpenTelemetry
//! context of traced work holds its span and the tracer that started it. There is no global tracer, so several services
//! can run in one process. Untraced work creates no spans.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};
use opentelemetry::global::{BoxedSpan, BoxedTracer};
use opentelemetry::trace::{Span, SpanKind, Status, Tracer};
use opentelemetry::{Context, KeyValue, Value};

/// Handles of all metrics of a database. Creating them registers every metric with the value 0.
#[derive(Clone)]
pub(crate) struct DatabaseMetrics {
    /// Seconds that a read took.
    pub reads: Histogram,
    /// Seconds that a write took.
    pub writes: Histogram,
    /// Seconds that a call waited for its permit to run.
    pub connection_wait: Histogram,
    /// Seconds that a write waited for the writer thread of SQLite.
    pub writer_wait: Histogram,
    /// Writes per commit of SQLite.
    pub group_size: Histogram,
    /// Transactions that were retried after a serialization failure.
    pub retries: Counter,
    /// Calls refused because all connections were busy.
    pub busy: Counter,
    /// Calls abandoned because the server did not respond.
    pub stalled: Counter,
    /// Calls that got no connection in time.
    pub unreachable: Counter,
    /// Writes that lost against concurrent transactions until their timeout.
    pub conflict: Counter,
    /// Writes refused because the queue of SQLite's writer was full.
    pub queue_full: Counter,
    /// Number of abandoned calls whose threads still wait for the server.
    pub abandoned: Arc<AtomicUsize>,
    abandoned_gauge: Gauge,
    in_use: Gauge,
    idle: Gauge,
    limit: Gauge,
    queued_writes: Gauge,
    standby_lag: Gauge,
}

/// The current use of the connection pool.
pub(crate) struct PoolUsage {
    /// Calls that run.
    pub in_use: usize,
    /// Open connections that no call uses.
    pub idle: usize,
    /// Calls that may run at once.
    pub limit: usize,
}

impl DatabaseMetrics {
    /// Describes and registers all metrics.
    pub(crate) fn new() -> Self {
        describe();
        let seconds = |kind| histogram!("drover_database_seconds", "kind" => kind);
        let wait = |queue| histogram!("drover_database_wait_seconds", "queue" => queue);
        let given_up = |reason| counter!("drover_database_given_up_total", "reason" => reason);
        let connections = |state| gauge!("drover_database_connections", "state" => state);
        Self {
            reads: seconds("read"),
            writes: seconds("write"),
            connection_wait: wait("connections"),
            writer_wait: wait("writer"),
            group_size: histogram!("drover_database_group_size"),
            retries: counter!("drover_database_retries_total"),
            busy: given_up("busy"),
            stalled: given_up("silent"),
            unreachable: given_up("unreachable"),
            conflict: given_up("conflict"),
            queue_full: given_up("writer_full"),
            abandoned: Arc::default(),
            abandoned_gauge: gauge!("drover_database_calls_left"),
            in_use: connections("in_use"),
            idle: connections("idle"),
            limit: gauge!("drover_database_connections_limit"),
            queued_writes: gauge!("drover_database_writes_waiting"),
            standby_lag: gauge!("drover_database_standby_lag_seconds"),
        }
    }

    /// Returns handles that record nothing.
    pub(crate) fn unregistered() -> Self {
        Self {
            reads: Histogram::noop(),
            writes: Histogram::noop(),
            connection_wait: Histogram::noop(),
            writer_wait: Histogram::noop(),
            group_size: Histogram::noop(),
            retries: Counter::noop(),
            busy: Counter::noop(),
            stalled: Counter::noop(),
            unreachable: Counter::noop(),
            conflict: Counter::noop(),
            queue_full: Counter::noop(),
            abandoned: Arc::default(),
            abandoned_gauge: Gauge::noop(),
            in_use: Gauge::noop(),
            idle: Gauge::noop(),
            limit: Gauge::noop(),
            queued_writes: Gauge::noop(),
            standby_lag: Gauge::noop(),
        }
    }

    /// Sets the gauge of the lag; `None` if it is unknown.
    pub(crate) fn update_lag(&self, lag: Option<Duration>) {
        self.standby_lag.set(lag.map_or(f64::NAN, |lag| lag.as_secs_f64()));
    }

    /// Sets the gauges.
    pub(crate) fn update(&self, pool: &PoolUsage, queued_writes: usize) {
        self.in_use.set(as_gauge_value(pool.in_use));
        self.idle.set(as_gauge_value(pool.idle));
        self.limit.set(as_gauge_value(pool.limit));
        self.queued_writes.set(as_gauge_value(queued_writes));
        self.abandoned_gauge.set(as_gauge_value(self.abandoned.load(Ordering::Relaxed)));
    }
}

/// Records the seconds since `started`.
pub(crate) fn record_elapsed(histogram: &Histogram, started: Instant) {
    histogram.record(started.elapsed().as_secs_f64());
}

/// Converts a count to a metric value. Saturates at `u32::MAX`.
pub(crate) fn as_gauge_value(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn describe() {
    describe_histogram!("drover_database_seconds", "Duration of calls, including waiting and retries");
    describe_histogram!("drover_database_wait_seconds", "Time that calls waited before they ran");
    describe_histogram!("drover_database_group_size", "Writes per commit of SQLite");
    describe_counter!("drover_database_retries_total", "Transactions retried after a serialization failure");
    describe_counter!("drover_database_given_up_total", "Calls answered with 503, by reason");
    describe_gauge!("drover_database_calls_left", "Abandoned calls whose threads still wait for the server");
    describe_gauge!("drover_database_connections", "Connections of the pool, by state");
    describe_gauge!("drover_database_connections_limit", "Maximum number of concurrent calls");
    describe_gauge!("drover_database_writes_waiting", "Writes queued for the single writer of SQLite");
    describe_gauge!("drover_database_standby_lag_seconds", "Lag of the standby for exports, at most");
}

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
