//! Time from the start of livestock to its first facets, with all listings.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;
use testkit::market::listings::LARGE_ORGANISATION;

use crate::baselines::floor;
use crate::environment::{BenchEnvironment, size_label};
use crate::measurement::median;

/// Starts after a clean stop. The report has the median.
const STARTS: usize = 3;
/// Maximum time of a stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// How a service ended before it is started.
#[derive(Debug, Clone, Copy)]
enum End {
    Stopped,
    Killed,
}

/// Measures the first start on a copy of the data, starts after a stop, and one after a kill. On PostgreSQL the service
/// is a second replica.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    let livestock = env.livestock()?;
    let data = env.temp_path("livestock");
    if env.postgres.is_none() {
        fs::create_dir_all(&data)?;
        let database = data.join("livestock.sqlite");
        fs::rename(floor::copy(env, livestock)?, database).context("cannot move the copy")?;
    }
    let open = || env.start("livestock", data.clone(), livestock.config().database.clone());
    let start = |end: End| {
        let started = Instant::now();
        let mut service = open()?;
        service.wait_ready(started, || env.stop.check())?;
        let ready = started.elapsed().as_secs_f64();
        service.get("/v1/listings?docs=false", &service.token(Some(LARGE_ORGANISATION)))?;
        let answered = started.elapsed().as_secs_f64();
        match end {
            End::Killed => service.kill()?,
            End::Stopped => {
                service.signal(Signal::TERM);
                service.wait_ended(STOP_TIMEOUT)?;
            }
        }
        anyhow::Ok((answered, answered - ready))
    };
    let add = |name: &str, seconds: f64| {
        env.add_metric(format!("livestock: {name}"), seconds * 1_000.0, None, "ms");
    };
    add("start to first facets, of a database that no service has stopped with", start(End::Stopped)?.0);
    let times = (0..STARTS).map(|_| start(End::Stopped)).collect::<Result<Vec<_>>>()?;
    let median_of = |value: fn(&(f64, f64)) -> f64| median(times.iter().map(value).collect());
    let (first_facets, once_ready) = (median_of(|times| times.0), median_of(|times| times.1));
    add("start to first facets", first_facets.unwrap_or_default());
    add("first facets once ready", once_ready.unwrap_or_default());
    start(End::Killed)?;
    add("start to first facets, after a kill", start(End::Stopped)?.0);
    let size = size_label(env.rows);
    env.record(&format!("start to first facets, {size}"), first_facets);
    env.record(&format!("first facets once ready, {size}"), once_ready);
    Ok(())
}
