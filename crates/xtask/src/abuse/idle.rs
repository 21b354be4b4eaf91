//! Connections on which nothing is said, more than there are files for too.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

use super::slow::{MARGIN, waits};
use super::socket::{Ends, Socket, exchange, head, status};
use super::stage::{Bounds, Stage, files, timeout_settings};
use crate::proc;
use crate::service::Service;

/// So few files as a service may have where somebody forgot to raise the limit.
const FEW: usize = 256;
/// While it cannot accept it may use so much of a core.
const CPU_MAX: f64 = 0.5;

/// Thousands of connections: half say nothing, half ask once.
pub fn connections(stage: &Stage<'_>) -> Result<()> {
    let (count, memory) = if stage.trial.short { (1000, 64.0) } else { (10_000, 400.0) };
    raise(count)?;
    let (victim, waits) = (&stage.logistics, waits(stage.trial.short));
    let hello = hello() + "\r\n";
    let bounds = Bounds { ends: &["408", "200, closed"], memory };
    let (before, mut each) = (victim.service.memory()?.anon, 0.0);
    let what = format!("{count} idle connections: half say nothing, half ask once and stay");
    stage.abuse(what, victim, &bounds, || {
        let mut sockets = Vec::new();
        for number in 0..count {
            let mut socket = Socket::quick(victim.port())?;
            socket.send(if number % 2 == 0 { &[] } else { hello.as_bytes() });
            sockets.push(socket);
        }
        let (begun, mut held) = (Instant::now(), 0);
        while held < sockets.len() && begun.elapsed() < waits.head {
            // Not those that it has closed already.
            let now = Socket::held(&sockets, victim.port())?;
            if now < held {
                break;
            }
            held = now;
            let memory = victim.service.memory()?.anon;
            each = (memory - before) * 1024.0 / f64::from(u32::try_from(held.max(1))?);
        }
        sleep(waits.idle + MARGIN);
        let mut ends = Ends::default();
        for mut socket in sockets {
            let answer = socket.read(4096).map(|answer| status(&answer));
            let open = socket.read(1).is_some();
            ends.add(match answer.as_deref() {
                None => "closed",
                Some(_) if open => "still held",
                Some("200") => "200, closed",
                Some(status) => status,
            });
        }
        Ok(ends)
    })?;
    let what = format!("abuse, {}: memory of an idle connection", victim.service.name);
    stage.trial.expect(each <= 40.0, what, format!("{each:.1} KiB"), "at most 40 KiB")
}

/// More connections than files: the service keeps some for its work, and takes the others when the first have gone.
pub fn few_files(stage: &Stage<'_>) -> Result<()> {
    let limited = stage.trial.path("limited.sh");
    let program = stage.trial.binaries.join("system");
    fs::write(&limited, format!("#!/bin/sh\nulimit -n {FEW}\nexec '{}' \"$@\"\n", program.display()))?;
    fs::set_permissions(&limited, fs::Permissions::from_mode(0o755))?;
    let short = stage.trial.short;
    let folder = stage.trial.path("abuse-files");
    let service = Service::start_with("system", &limited, folder, None, timeout_settings(short))?;
    let (count, waits) = (2 * FEW, waits(short));
    let sockets = (0..count).map(|_| Socket::quick(service.port())).collect::<Result<Vec<_>>>()?;
    sleep(Duration::from_millis(500));
    let (open, begun) = (files(service.pid())?, Instant::now());
    let status = exchange(service.port(), &(hello() + "\r\n"), [].into_iter())?;
    let (took, short_of) = (begun.elapsed(), service.log().matches("Too many open files").count());
    drop(sockets);
    let limit = waits.head * 4 + MARGIN;
    stage.trial.expect(
        status == "200" && took <= limit && open < FEW && short_of == 0,
        format!("abuse, system: {count} idle connections where {FEW} files may be open"),
        format!(
            "{open} open; one more is answered {status} after {:.1} s; {short_of} times without a file",
            took.as_secs_f64()
        ),
        format!("fewer than {FEW}; 200 within {} s; never", limit.as_secs()),
    )?;
    starved(stage, &service)
}

/// Files taken away while it runs: it neither dies nor spins, and serves again once there are some.
fn starved(stage: &Stage<'_>, service: &Service) -> Result<()> {
    let pid = i32::try_from(service.pid()).ok().and_then(Pid::from_raw).context("no process id")?;
    let mut kept = Socket::open(service.port())?;
    kept.send(hello().as_bytes());
    kept.send(b"\r\n");
    let first = kept.end();
    let limit = |files: usize| {
        let files = Some(files as u64);
        prlimit(Some(pid), Resource::Nofile, Rlimit { current: files, maximum: Some(FEW as u64) })
    };
    limit(steady(service.pid())? + 1).context("cannot limit the files of a process")?;
    let sockets = (0..50).map(|_| Socket::quick(service.port())).collect::<Result<Vec<_>>>()?;
    let (before, begun) = (proc::cpu_us(service.pid())?, Instant::now());
    sleep(Duration::from_secs(1));
    let used = (proc::cpu_us(service.pid())? - before) / 1e6 / begun.elapsed().as_secs_f64();
    drop(sockets);
    limit(FEW)?;
    let refused = service.log().matches("Too many open files").count();
    let begun = Instant::now();
    let again = exchange(service.port(), &(hello() + "\r\n"), [].into_iter())?;
    let took = begun.elapsed();
    stage.trial.expect(
        first == "200" && again == "200" && refused > 0 && used <= CPU_MAX && took <= Duration::from_secs(5),
        "abuse, system: no file left for a connection",
        format!(
            "{refused} times in a second, with {used:.2} cores; then {again} after {:.1} s",
            took.as_secs_f64()
        ),
        format!("seen, with at most {CPU_MAX} cores; 200 within 5 s"),
    )
}

fn hello() -> String {
    head("GET", "/healthz", None, &[])
}

/// How many files it has once it has closed what it still has to.
fn steady(pid: u32) -> Result<usize> {
    let (begun, mut last) = (Instant::now(), files(pid)?);
    loop {
        sleep(Duration::from_millis(300));
        let now = files(pid)?;
        if now == last {
            return Ok(now);
        }
        if begun.elapsed() > Duration::from_secs(15) {
            bail!("a service does not come to rest: {last} files are open, then {now}");
        }
        last = now;
    }
}

/// As many files as this process may have, which must be enough for so many connections.
fn raise(count: usize) -> Result<()> {
    let files = getrlimit(Resource::Nofile);
    let needed = count + 500;
    if let Some(most) = files.maximum.filter(|most| *most < needed as u64) {
        bail!("only {most} files may be open here: raise the hard limit to {needed} (`ulimit -n {needed}`)");
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: files.maximum, maximum: files.maximum })?)
}
