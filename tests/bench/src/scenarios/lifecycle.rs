//! Starts and stops: their time, the memory of idle services, programs, first facets, and what a stop leaves behind.

use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result};
use rustix::process::Signal;

use crate::environment::BenchEnvironment;
use crate::limits;
use crate::measurement::median;
use crate::report::Bound::AtMost;
use testkit::market::listings::LARGE_ORGANISATION;
use testkit::processes::checkout::SERVICES;

/// Starts of each service. The report has the medians.
const STARTS: usize = 3;
/// Time after a start at which the memory is that of an idle service.
const IDLE_AFTER: Duration = Duration::from_secs(2);
/// Maximum time of a stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const MIB: f64 = 1_048_576.0;

/// Starts each service with an existing database, and measures its idle memory and its program.
pub fn start(env: &BenchEnvironment) -> Result<()> {
    for name in SERVICES {
        let (data, database) = (env.temp_path(name), env.create_database(name)?);
        drop(env.start(name, data.clone(), database.clone())?);
        let (mut times, mut pss) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            env.stop.check()?;
            let service = env.start(name, data.clone(), database.clone())?;
            times.push(service.start_up.as_secs_f64() * 1000.0);
            thread::sleep(IDLE_AFTER);
            pss.push(service.pss()?);
        }
        let (max_ms, max_idle, max_size) =
            if name == "system" { (120.0, 40.0, 32.0) } else { (50.0, 25.0, 20.0) };
        let add = |figure: &str, value, unit, max| {
            env.add_value(&format!("{name}: {figure}"), value, unit, Some(AtMost(max)));
        };
        add("start", median(times).unwrap_or_default(), "ms", max_ms);
        add("idle PSS", median(pss).unwrap_or_default(), "MiB", max_idle);
        add("program", mib(fs::metadata(env.programs.join(name))?.len()), "MiB", max_size);
    }
    Ok(())
}

/// Measures the time from the start of livestock to its first facets, with all listings, after a stop and after a kill.
/// On PostgreSQL the service is a second replica.
pub fn first_facets(env: &BenchEnvironment) -> Result<()> {
    let livestock = env.service("livestock")?;
    let data = env.temp_path("livestock");
    if env.postgres.is_none() {
        fs::create_dir_all(&data)?;
        let database = data.join("livestock.sqlite");
        fs::rename(limits::copy(env, livestock)?, database).context("cannot move the copy")?;
    }
    let start = |kill: bool| {
        env.stop.check()?;
        let started = Instant::now();
        let mut service = env.start("livestock", data.clone(), livestock.config().database.clone())?;
        service.wait_ready(started, || env.stop.check())?;
        let ready = started.elapsed().as_secs_f64() * 1e3;
        service.get("/v1/listings?docs=false", &service.token(Some(LARGE_ORGANISATION)))?;
        let answered = started.elapsed().as_secs_f64() * 1e3;
        if kill {
            service.kill()?;
        } else {
            service.signal(Signal::TERM);
            service.wait_ended(STOP_TIMEOUT)?;
        }
        anyhow::Ok((answered, answered - ready))
    };
    start(false)?;
    let times = (0..STARTS).map(|_| start(false)).collect::<Result<Vec<_>>>()?;
    let median_of = |value: fn(&(f64, f64)) -> f64| median(times.iter().map(value)).unwrap_or_default();
    let max = Some(AtMost(if env.rows > 100_000 { 3_000.0 } else { 800.0 }));
    env.add_value("start to first facets", median_of(|times| times.0), "ms", max);
    env.add_value("first facets once ready", median_of(|times| times.1), "ms", Some(AtMost(50.0)));
    start(true)?;
    env.add_value("start to first facets, after a kill", start(false)?.0, "ms", max);
    Ok(())
}

/// Reports the highest memory of the services that scenarios have used, stops these services, and measures the
/// write-ahead logs that they leave.
pub fn stop_services(env: &mut BenchEnvironment) {
    for (name, pss) in env.peak_pss.take() {
        env.add_value(&format!("{name}: highest PSS"), pss, "MiB", Some(AtMost(150.0)));
    }
    for (name, database) in env.stop_services() {
        if env.postgres.is_none() && database.exists() {
            let log = database.with_extension("sqlite-wal");
            let size = fs::metadata(log).map_or(0.0, |metadata| mib(metadata.len()));
            env.add_value(&format!("{name}: write-ahead log after a stop"), size, "MiB", Some(AtMost(1.0)));
        }
    }
}

/// Returns bytes in MiB.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}
