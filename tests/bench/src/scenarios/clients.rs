//! Latency with 1 to 256 clients.

use anyhow::Result;

use super::listings::search::BY_DATE;
use super::{listings, loads};
use crate::benchmark::Benchmark;
use crate::environment::BenchEnvironment;
use crate::load;
use crate::report::{BenchmarkResult, LATENCY_BY_CLIENTS, Target};

const CLIENTS: [usize; 5] = [1, 4, 16, 64, 256];

/// Measures pages of listings.
pub fn pages(env: &BenchEnvironment) -> Result<()> {
    for clients in CLIENTS {
        let (paths, _) = BY_DATE.queries(env.postgres.is_some());
        let name = format!("clients: listing page, {clients}");
        let page = listings::search::benchmark(env, &name, paths, Target::None)?;
        record(env, "listing page", clients, &page.alone(env, clients)?);
    }
    Ok(())
}

/// Creates loads.
pub fn creates(env: &BenchEnvironment) -> Result<()> {
    let service = env.logistics()?;
    let requests = loads::write::create_requests(env, service)?;
    for clients in CLIENTS {
        let result = Benchmark {
            name: format!("clients: create a load, {clients}"),
            service,
            run: Box::new(|| load::send(env, service, &requests, clients)),
            baselines: Vec::new(),
            target: Target::None,
        }
        .measure(env)?;
        record(env, "create a load", clients, &result);
    }
    Ok(())
}

fn record(env: &BenchEnvironment, name: &str, clients: usize, result: &BenchmarkResult) {
    let summary = &result.summary;
    for (percentile, us) in [("p50", summary.p50_us), ("p99", summary.p99_us), ("p99.9", summary.p999_us)] {
        env.add_point(LATENCY_BY_CLIENTS, &format!("{name}, {percentile}"), clients, Some(us));
    }
}
