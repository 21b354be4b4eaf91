//! The work of each server of a cluster for each request, and the parts of tables that its statements ask.

use std::fmt::{self, Write};

/// An operation with a number of workers.
#[derive(Debug)]
pub struct NodeRow {
    /// Number of workers; 0 with one PostgreSQL server.
    pub workers: usize,
    /// Name of the operation.
    pub operation: &'static str,
    /// Requests per second.
    pub rate: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// CPU time of the service for each request, in microseconds.
    pub service_cpu_us: f64,
    /// CPU time in microseconds, statements and pages of each server for each request, those of the coordinator first.
    pub servers: Vec<[f64; 3]>,
}

impl NodeRow {
    /// Returns the sums of the work of all workers, and the maxima.
    fn of_workers(&self) -> ([f64; 3], [f64; 3]) {
        let workers = self.servers.iter().skip(1);
        let sum = workers.clone().fold([0.0; 3], |sum, work| [0, 1, 2].map(|i| sum[i] + work[i]));
        let max = workers.fold([0.0; 3], |max, work| [0, 1, 2].map(|i| f64::max(max[i], work[i])));
        (sum, max)
    }
}

impl fmt::Display for NodeRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let coordinator = self.servers.first().copied().unwrap_or_default();
        let (sum, max) = self.of_workers();
        write!(
            f,
            "| {} | {} | {:.0} | {:.1} ms | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1} | {:.0} | {:.0} |",
            self.operation,
            self.workers,
            self.rate,
            self.p50_us / 1e3,
            self.service_cpu_us,
            coordinator[0],
            sum[0],
            max[0],
            coordinator[1],
            sum[1],
            coordinator[2] + sum[2],
            f64::max(coordinator[2], max[2]),
        )
    }
}

/// A kind of statement of an operation.
#[derive(Debug)]
pub struct PlanRow {
    /// Name of the operation.
    pub operation: &'static str,
    /// The verb and the first table.
    pub statement: String,
    /// The number of parts that each scan reads, or `coordinator`.
    pub parts: String,
}

/// Renders the statements of operations.
pub fn plans_markdown(rows: &[PlanRow]) -> String {
    let mut text = String::new();
    if !rows.is_empty() {
        text += "\n| Operation | statement | parts (EXPLAIN: Task Count) |\n|---|---|---|\n";
    }
    for PlanRow { operation, statement, parts } in rows {
        let _ = writeln!(text, "| {operation} | {statement} | {parts} |");
    }
    text
}

/// Renders the rows, those of one operation side by side.
pub fn markdown(rows: &[NodeRow]) -> String {
    let mut text = String::new();
    if rows.is_empty() {
        return text;
    }
    text += "\n| Operation | workers | requests/s | p50 | CPU/request, µs: service | coordinator | all workers | busiest worker \
             | statements/request: coordinator | workers | pages/request: all | busiest server |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|\n";
    let mut operations: Vec<_> = rows.iter().map(|row| row.operation).collect();
    operations.sort_by_key(|name| rows.iter().position(|row| row.operation == *name));
    operations.dedup();
    for name in operations {
        for row in rows.iter().filter(|row| row.operation == name) {
            let _ = writeln!(text, "{row}");
        }
    }
    text
}
