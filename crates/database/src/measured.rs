//! What is counted of a database. The handles are kept: finding one by its name costs more than counting does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use metrics::{Counter, Gauge, Histogram};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

use crate::small;

/// The metrics of a database, each there from the start.
#[derive(Clone)]
pub(crate) struct DatabaseMetrics {
    pub reads: Histogram,
    pub writes: Histogram,
    /// Until a call has a connection.
    pub waited: Histogram,
    /// Until the one writer of SQLite turns to a write.
    pub queued: Histogram,
    /// Of SQLite's writes.
    pub group_size: Histogram,
    pub retries: Counter,
    pub busy: Counter,
    pub silent: Counter,
    pub unreachable: Counter,
    pub conflict: Counter,
    pub full: Counter,
    /// Calls that were given up and whose threads still wait; shown as all that is only so just now.
    pub left: Arc<AtomicUsize>,
    calls_left: Gauge,
    in_use: Gauge,
    idle: Gauge,
    most: Gauge,
    waiting: Gauge,
}

/// What the pool and the writer are like just now.
pub(crate) struct PoolUsage {
    pub in_use: usize,
    pub idle: usize,
    pub most: usize,
    pub waiting: usize,
}

impl DatabaseMetrics {
    pub(crate) fn new() -> Self {
        describe();
        let seconds = |kind| histogram!("drover_database_seconds", "kind" => kind);
        let wait = |queue| histogram!("drover_database_wait_seconds", "queue" => queue);
        let given_up = |reason| counter!("drover_database_given_up_total", "reason" => reason);
        let connections = |state| gauge!("drover_database_connections", "state" => state);
        Self {
            reads: seconds("read"),
            writes: seconds("write"),
            waited: wait("connections"),
            queued: wait("writer"),
            group_size: histogram!("drover_database_group_size"),
            retries: counter!("drover_database_retries_total"),
            busy: given_up("busy"),
            silent: given_up("silent"),
            unreachable: given_up("unreachable"),
            conflict: given_up("conflict"),
            full: given_up("writer_full"),
            left: Arc::default(),
            calls_left: gauge!("drover_database_calls_left"),
            in_use: connections("in_use"),
            idle: connections("idle"),
            most: gauge!("drover_database_connections_limit"),
            waiting: gauge!("drover_database_writes_waiting"),
        }
    }

    pub(crate) fn update(&self, load: &PoolUsage) {
        self.in_use.set(small(load.in_use));
        self.idle.set(small(load.idle));
        self.most.set(small(load.most));
        self.waiting.set(small(load.waiting));
        self.calls_left.set(small(self.left.load(Ordering::Relaxed)));
    }
}

/// Records how long something took that began then.
pub(crate) fn record(histogram: &Histogram, begun: Instant) {
    histogram.record(begun.elapsed().as_secs_f64());
}

fn describe() {
    describe_histogram!("drover_database_seconds", "How long calls took, with waiting and running again");
    describe_histogram!("drover_database_wait_seconds", "How long calls waited for their turn");
    describe_histogram!("drover_database_group_size", "Writes that one commit of SQLite held");
    describe_counter!("drover_database_retries_total", "Transactions run again since another had won");
    describe_counter!("drover_database_given_up_total", "Calls that were answered with 503, by reason");
    describe_gauge!("drover_database_calls_left", "Calls given up whose threads still wait for the server");
    describe_gauge!("drover_database_connections", "Connections of the pool, by state");
    describe_gauge!("drover_database_connections_limit", "The most calls that run at once");
    describe_gauge!("drover_database_writes_waiting", "Writes that wait for the one writer of SQLite");
}
