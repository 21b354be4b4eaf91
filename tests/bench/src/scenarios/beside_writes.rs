//! Pages that are read while others write. Each commit changes the database under its readers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use serde_json::{Value, json};
use testkit::market::listings::{LARGE_ORGANISATION, listing};
use testkit::market::organised_load;
use testkit::processes::http::Body;
use testkit::processes::service::ServiceProcess;

use super::listings::search::BY_DATE;
use super::{listings, loads};
use crate::benchmark::{Baseline, Benchmark};
use crate::environment::BenchEnvironment;
use crate::get_benchmark::GetBenchmark;
use crate::load::{self, CLIENTS};
use crate::measurement::Measurement;
use crate::report::Target;

/// Commits per second.
const RATES: [u32; 2] = [20, 150];
/// Threads that write in turn: enough for 150 writes/s that take 100 ms each.
const WRITERS: u32 = 16;
/// Name of the baseline.
const QUIET: &str = "quiet";
/// Number of the first created listing or load.
const FIRST_NUMBER: usize = 20_000_000;
/// Number of the first listing that is created beside facets.
const FIRST_FACETS_NUMBER: usize = 30_000_000;

/// Reads pages of listings while listings are created.
pub fn listing_page(env: &BenchEnvironment) -> Result<()> {
    let (paths, _) = BY_DATE.queries(env.postgres.is_some());
    let page = listings::search::benchmark(env, "listing page", paths, Target::None)?;
    let token = page.service.token(Some("org-7"));
    let next = AtomicUsize::new(FIRST_NUMBER);
    measure(env, &page, &RATES, Target::MinRateRatio(0.85), |service| create_listing(service, &token, &next))
}

/// Counts facets while listings are created. A new listing removes the cached counts that it changes.
pub fn facets(env: &BenchEnvironment) -> Result<()> {
    let facets = listings::facets::benchmark(env, "facets", Some(LARGE_ORGANISATION), Target::None, |_| {
        String::new()
    })?;
    let token = facets.service.token(Some("org-7"));
    let next = AtomicUsize::new(FIRST_FACETS_NUMBER);
    measure(env, &facets, &RATES[..1], Target::MaxCpu(600.0), |service| {
        create_listing(service, &token, &next)
    })
}

fn create_listing(service: &ServiceProcess, token: &str, next: &AtomicUsize) -> Result<()> {
    let listing = listing(next.fetch_add(1, Ordering::Relaxed));
    let path = format!("/v1/listings/{}", listing.path);
    service.send("POST", &path, token, &Body::Json(listing.body)).map(drop)
}

/// Reads pages of loads while loads are created.
pub fn load_page(env: &BenchEnvironment) -> Result<()> {
    let (paths, _) = loads::search::queries(env.postgres.is_some());
    let page = loads::search::benchmark(env, "load page", paths, Target::None)?;
    let admin = page.service.token(None);
    let next = AtomicUsize::new(FIRST_NUMBER);
    measure(env, &page, &RATES, Target::MinRateRatio(0.85), |service| {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let mut body = organised_load(&format!("org-{}", number % 50), &format!("W-{number}"), &Value::Null);
        body["carrierId"] = json!(format!("haul-{}", number % 30));
        service.send("POST", "/v1/loads/organiser", &admin, &Body::Json(body)).map(drop)
    })
}

/// Compares requests beside each rate of writes with requests without writes.
fn measure(
    env: &BenchEnvironment,
    page: &GetBenchmark,
    rates: &[u32],
    target: Target,
    write: impl Fn(&ServiceProcess) -> Result<()> + Sync,
) -> Result<()> {
    let requests = page.requests(env, &[])?;
    let read = || load::send(env, page.service, &requests, CLIENTS);
    for rate in rates.iter().copied() {
        let name = format!("{} beside {rate} commits/s", page.name);
        let result = Benchmark {
            name: name.clone(),
            service: page.service,
            run: Box::new(|| beside_writes(rate, || write(page.service), read)),
            baselines: vec![Baseline { name: QUIET, run: Box::new(read) }],
            target,
        }
        .measure(env)?;
        env.record(&format!("{name}, part of the quiet rate"), result.rate_percent(QUIET));
    }
    Ok(())
}

/// Reads while `rate` writes a second are made.
///
/// # Errors
/// A write failed, or fewer than four fifths of the writes were made.
fn beside_writes(
    rate: u32,
    write: impl Fn() -> Result<()> + Sync,
    read: impl FnOnce() -> Result<Measurement>,
) -> Result<Measurement> {
    let (done, started) = (&AtomicBool::new(false), Instant::now());
    let write = &write;
    let writer = move |number: u32| {
        let mut writes = 0_u32;
        while !done.load(Ordering::Relaxed) {
            let due = started + Duration::from_secs(1) * (writes * WRITERS + number) / rate;
            sleep(due.saturating_duration_since(Instant::now()));
            if !done.load(Ordering::Relaxed) {
                write()?;
                writes += 1;
            }
        }
        anyhow::Ok(writes)
    };
    let (measurement, made, seconds) = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|number| scope.spawn(move || writer(number))).collect();
        let measurement = read();
        done.store(true, Ordering::Relaxed);
        let seconds = started.elapsed().as_secs_f64();
        let mut made = 0;
        for writer in writers {
            made += writer.join().map_err(|_| anyhow!("a writer panicked"))??;
        }
        anyhow::Ok((measurement?, made, seconds))
    })?;
    let expected = f64::from(rate) * seconds;
    ensure!(f64::from(made) > expected * 0.8, "only {made} of {expected:.0} writes were made");
    Ok(measurement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_at_the_rate_while_reading() {
        let measurement = Measurement::parse(&json!({"requests": 1, "us": 1, "p50": 1, "p99": 1, "p999": 1}));
        let (measurement, writes) = (measurement.unwrap(), AtomicUsize::new(0));
        let read = || {
            sleep(Duration::from_millis(500));
            Ok(measurement)
        };
        let write = || {
            writes.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        // On a busy machine the writers may be too late, which is an error.
        let succeeds = (0..5).any(|_| {
            let started = Instant::now();
            let result = beside_writes(100, write, read);
            let due = usize::try_from(started.elapsed().as_millis() / 10).unwrap();
            let made = writes.swap(0, Ordering::Relaxed);
            assert!(made <= due + WRITERS as usize, "{made} writes, {due} were due");
            let Ok(result) = result else { return false };
            assert_eq!(result, measurement);
            assert!(made > 40, "{made} writes in 500 ms");
            true
        });
        assert!(succeeds, "too few writes five times");
        assert!(beside_writes(100, || Err(anyhow!("full")), || Ok(measurement)).is_err());
    }
}
