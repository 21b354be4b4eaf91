//! Thousands of idle connections, and more connections than file descriptors.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use testkit::processes::process_stats;
use testkit::processes::service::{ServiceConfig, ServiceProcess};
use testkit::processes::trial::Trial;

use crate::abuse::services::{MARGIN, Services, Timeouts};
use crate::abuse::socket::{self, Socket, head, status};
use crate::abuse::target::{Limits, Outcomes, open_files};

/// Limit of the memory of a connection in KiB.
const MAX_CONNECTION_MEMORY: f64 = 40.0;

/// Opens connections. Half of them send nothing, half send one request.
pub fn idle(services: &Services<'_>) -> Result<()> {
    let (trial, target) = (services.trial, &services.logistics);
    let (count, memory) = if trial.short { (1000, 64.0) } else { (10_000, 400.0) };
    raise_file_limit(count)?;
    let timeouts = Timeouts::new(trial.short);
    let request = head("GET", "/healthz", None, &[]) + "\r\n";
    let limits = Limits { outcomes: &["408", "200, closed"], memory };
    let (before, mut connection_memory) = (target.service.memory()?.anon, 0.0);
    let attack = format!("{count} idle connections: half send nothing, half send one request");
    target.attack(&attack, &limits, || {
        let mut sockets = Vec::new();
        for number in 0..count {
            let mut socket = Socket::open_nonblocking(target.port())?;
            socket.send(if number % 2 == 0 { &[] } else { request.as_bytes() });
            sockets.push(socket);
        }
        let (begun, mut held) = (Instant::now(), 0);
        while held < sockets.len() && begun.elapsed() < timeouts.head {
            let now = Socket::count_held(&sockets, target.port())?;
            if now < held {
                break; // the service closes connections already
            }
            held = now;
            let memory = target.service.memory()?.anon - before;
            connection_memory = memory * 1024.0 / f64::from(u32::try_from(held.max(1))?);
        }
        trial.pause(timeouts.idle + MARGIN)?;
        let mut outcomes = Outcomes::default();
        for mut socket in sockets {
            let response = socket.read(4096).map(|response| status(&response));
            let is_open = socket.read(1).is_some();
            outcomes.add(match response.as_deref() {
                None => "closed",
                Some(_) if is_open => "still connected",
                Some("200") => "200, closed",
                Some(status) => status,
            });
        }
        Ok(outcomes)
    })?;
    target.expect(
        connection_memory <= MAX_CONNECTION_MEMORY,
        "memory of an idle connection",
        format!("{connection_memory:.1} KiB"),
        format!("{MAX_CONNECTION_MEMORY} KiB"),
    )
}

/// Lets this program open so many connections.
fn raise_file_limit(connections: usize) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let needed = connections + 500;
    if let Some(maximum) = limit.maximum.filter(|maximum| *maximum < needed as u64) {
        bail!("the limit of open files is {maximum}: raise it to {needed} (`ulimit -n {needed}`)");
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}

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
pub fn file_limit(trial: &Trial<'_>) -> Result<()> {
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
