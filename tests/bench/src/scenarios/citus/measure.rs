//! The measurement of one operation.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Result;
use testkit::market::loads::csv_batch;
use testkit::market::random::{Random, SEED};
use testkit::processes::process_stats;

use super::cluster::Services;
use super::counters::Counters;
use super::operations::{Operation, Work};
use crate::datasets;
use crate::environment::BenchEnvironment;
use crate::report::NodeRow;

/// Measures an operation.
pub fn measure(services: &Services, env: &BenchEnvironment, operation: &Operation) -> Result<NodeRow> {
    let service = services.service(operation.service);
    let counters = Counters::reset(&services.cluster)?;
    let service_cpu = process_stats::cpu_us(service.pid())?;
    let (count, rate, p50_us) = perform(services, operation, env.seconds)?;
    let service_cpu = process_stats::cpu_us(service.pid())? - service_cpu;
    let servers = counters.read()?.into_iter().map(|work| [work.cpu_us, work.statements, work.pages]);
    let per_request = servers.map(|work| work.map(|sum| sum / count)).collect();
    Ok(NodeRow {
        workers: services.cluster.workers.len(),
        operation: operation.name,
        rate,
        p50_us,
        service_cpu_us: service_cpu / count,
        servers: per_request,
    })
}

/// Does the work of an operation with its service, for some seconds unless it is a batch. Returns the number of
/// requests, requests per second and the median of their microseconds.
pub fn perform(services: &Services, operation: &Operation, seconds: u64) -> Result<(f64, f64, f64)> {
    match &operation.work {
        Work::Requests(requests, clients) => {
            let run = requests.send(&services.service(operation.service).url(""), *clients, seconds)?;
            Ok((run.requests, run.rate(), run.p50_us))
        }
        Work::Batch(rows) => import(services, *rows),
    }
}

/// Imports a batch and returns its rows, rows per second and microseconds.
fn import(services: &Services, rows: usize) -> Result<(f64, f64, f64)> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    // Each import has references of its own.
    let first = 100_000_000 + 1_000_000 * COUNT.fetch_add(1, Ordering::Relaxed);
    let csv = csv_batch(&mut Random(SEED), first, rows);
    let started = Instant::now();
    datasets::loads::import(&services.logistics, &services.logistics.token(None), csv)?;
    let us = started.elapsed().as_secs_f64() * 1e6;
    #[expect(clippy::cast_precision_loss, reason = "10,000")]
    let rows = rows as f64;
    Ok((rows, rows / us * 1e6, us))
}
