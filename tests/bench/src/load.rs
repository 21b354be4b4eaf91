//! Load on a service, with the CPU time that the service and the database server spend on it.

use anyhow::Result;
use testkit::processes::process_stats;
use testkit::processes::service::ServiceProcess;

use crate::environment::BenchEnvironment;
use crate::measurement::Measurement;
use crate::wrk::Requests;

/// Connections of a scenario that does not state another number.
pub const CLIENTS: usize = 4;

/// Sends requests to a service for the duration of a run.
pub fn send(
    env: &BenchEnvironment,
    service: &ServiceProcess,
    requests: &Requests,
    clients: usize,
) -> Result<Measurement> {
    with_cpu_time(env, service, || requests.send(&service.url(""), clients, env.seconds))
}

/// Runs `work` and adds the CPU time that the service and the database server spend meanwhile.
pub fn with_cpu_time(
    env: &BenchEnvironment,
    service: &ServiceProcess,
    work: impl FnOnce() -> Result<Measurement>,
) -> Result<Measurement> {
    let before = process_stats::cpu_us(service.pid())?;
    let measurement = with_server_cpu_time(env.postgres_pid, work)?;
    let service_us = process_stats::cpu_us(service.pid())? - before;
    Ok(Measurement { cpu_us: Some(service_us + measurement.cpu_us.unwrap_or_default()), ..measurement })
}

/// Runs `work` and adds the CPU time that the database server spends meanwhile, if its process is known.
pub fn with_server_cpu_time(
    server: Option<u32>,
    work: impl FnOnce() -> Result<Measurement>,
) -> Result<Measurement> {
    let cpu = || server.map(process_stats::family_cpu_us).transpose();
    let before = cpu()?;
    let measurement = work()?;
    Ok(Measurement { cpu_us: cpu()?.zip(before).map(|(after, before)| after - before), ..measurement })
}
