//! Thousands of idle connections.

use std::time::Instant;

use anyhow::{Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::outcomes::Outcomes;
use super::services::{Services, Timeouts};
use super::slow::MARGIN;
use super::socket::{Socket, head, status};
use super::target::Limits;

/// Limit of the memory of a connection in KiB.
const MAX_CONNECTION_MEMORY: f64 = 40.0;

/// Opens connections. Half of them send nothing, half send one request.
pub fn run(services: &Services<'_>) -> Result<()> {
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
