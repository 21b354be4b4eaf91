//! More connections than file descriptors.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use stack::process_stats;
use stack::service::{ServiceConfig, ServiceProcess};
use stack::trial::Trial;

use super::services::Timeouts;
use super::slow::MARGIN;
use super::socket::{self, Socket, head};
use super::target::open_files;

/// Limit of file descriptors: lower than a service needs for its limit of connections.
const FILE_LIMIT: usize = 256;
/// Limit of the processor time while the service can't accept connections, in cores.
const MAX_CORES: f64 = 0.5;
/// Limit of the response once the limit of file descriptors is raised again.
const RECOVERY_LIMIT: Duration = Duration::from_secs(5);
/// Limit of the time until the number of open files is constant.
const CONSTANT_TIMEOUT: Duration = Duration::from_secs(15);

/// Opens more connections than the service has file descriptors: it keeps some for its work, and accepts the others
/// when the first are closed.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let config = trial.service_config("system", "abuse-file-limit");
    let program = trial.path("limited.sh");
    let script = format!("#!/bin/sh\nulimit -n {FILE_LIMIT}\nexec '{}' \"$@\"\n", config.program.display());
    fs::write(&program, script)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let environment = Timeouts::environment(trial.short);
    let service = ServiceProcess::start(&ServiceConfig { program, environment, ..config })?;
    let count = 2 * FILE_LIMIT;
    let sockets = open_sockets(&service, count)?;
    trial.pause(Duration::from_millis(500))?;
    let open = open_files(service.pid())?;
    let (status, duration) = request(&service)?;
    let refusals = count_refusals(&service);
    drop(sockets);
    let limit = Timeouts::new(trial.short).head * 4 + MARGIN;
    trial.expect(
        status == "200" && duration <= limit && open < FILE_LIMIT && refusals == 0,
        format!("system: {count} idle connections with {FILE_LIMIT} allowed file descriptors"),
        format!(
            "{open} open; the next request {status} after {:.1} s; {refusals} times without a descriptor",
            duration.as_secs_f64()
        ),
        format!("fewer than {FILE_LIMIT}; 200, {} s; 0", limit.as_secs()),
    )?;
    lower_limit(trial, &service)
}

/// Lowers the limit while the service runs: it must neither end nor spin, and respond once the limit is raised again.
fn lower_limit(trial: &Trial<'_>, service: &ServiceProcess) -> Result<()> {
    let pid = i32::try_from(service.pid()).ok().and_then(Pid::from_raw).context("no process id")?;
    let mut kept = Socket::open(service.port())?;
    kept.send(healthz().as_bytes());
    let first = kept.read_status();
    let set_limit = |files: usize| {
        let limit = Rlimit { current: Some(files as u64), maximum: Some(FILE_LIMIT as u64) };
        prlimit(Some(pid), Resource::Nofile, limit).context("cannot limit the files of a process")
    };
    set_limit(constant_open_files(trial, service.pid())? + 1)?;
    let sockets = open_sockets(service, 50)?;
    let (before, begun) = (process_stats::cpu_us(service.pid())?, Instant::now());
    trial.pause(Duration::from_secs(1))?;
    let cores = (process_stats::cpu_us(service.pid())? - before) / 1e6 / begun.elapsed().as_secs_f64();
    drop(sockets);
    set_limit(FILE_LIMIT)?;
    let refusals = count_refusals(service);
    let (last, duration) = request(service)?;
    trial.expect(
        first == "200" && last == "200" && refusals > 0 && cores <= MAX_CORES && duration <= RECOVERY_LIMIT,
        "system: the limit of file descriptors lowered while running",
        format!(
            "{refusals} times without a descriptor in a second, {cores:.2} cores; then {last} after {:.1} s",
            duration.as_secs_f64()
        ),
        format!("some, {MAX_CORES} cores; 200, {} s", RECOVERY_LIMIT.as_secs()),
    )
}

fn open_sockets(service: &ServiceProcess, count: usize) -> Result<Vec<Socket>> {
    (0..count).map(|_| Socket::open_nonblocking(service.port())).collect()
}

fn healthz() -> String {
    head("GET", "/healthz", None, &[]) + "\r\n"
}

/// Sends a request on a new connection. Returns its status and duration.
fn request(service: &ServiceProcess) -> Result<(String, Duration)> {
    let begun = Instant::now();
    Ok((socket::send(service.port(), &healthz())?, begun.elapsed()))
}

/// How often the service could not accept a connection.
fn count_refusals(service: &ServiceProcess) -> usize {
    service.log().matches("Too many open files").count()
}

/// Waits until the number of open files of a process is constant.
fn constant_open_files(trial: &Trial<'_>, pid: u32) -> Result<usize> {
    let mut last = open_files(pid)?;
    trial.wait_for("the number of open files is constant", CONSTANT_TIMEOUT, || {
        trial.pause(Duration::from_millis(250))?;
        let now = open_files(pid)?;
        Ok(std::mem::replace(&mut last, now) == now)
    })?;
    Ok(last)
}
