//! Listings, created one by one.

use std::ops::Range;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use serde_json::json;
use testkit::market::listings::{LISTINGS_PER_CLOSED, ORGANISATION_COUNT, listing};
use testkit::processes::http::{Body, MAX_IDLE_CONNECTIONS};
use testkit::processes::interrupt::Interrupt;
use testkit::processes::service::ServiceProcess;

/// Requests between two lines of progress.
const PROGRESS_INTERVAL: usize = 20_000;
const WISHLIST_SIZE: usize = 50;

/// Creates listings, closes some, and puts some on the wishlist of the administrator.
pub fn create(service: &ServiceProcess, count: usize, stop: &Interrupt) -> Result<()> {
    let tokens: Vec<_> =
        (0..ORGANISATION_COUNT).map(|number| service.token(Some(&format!("org-{number}")))).collect();
    let ids = run_parallel("listings created", count, stop, |number| {
        let listing = listing(number);
        let path = format!("/v1/listings/{}", listing.path);
        let response =
            service.send("POST", &path, &tokens[listing.organisation], &Body::Json(listing.body))?;
        response.json["id"].as_str().map(str::to_owned).with_context(|| format!("{path} returned no id"))
    })?;
    let admin = service.token(None);
    run_parallel("listings closed", count.div_ceil(LISTINGS_PER_CLOSED), stop, |number| {
        let status = if number % 4 == 0 { "found" } else { "sold" };
        let path = format!("/v1/listings/{}/close", ids[number * LISTINGS_PER_CLOSED]);
        service.send("POST", &path, &admin, &Body::Json(json!({"status": status})))
    })?;
    for id in ids.iter().skip(2).step_by((count / WISHLIST_SIZE).max(1)).take(WISHLIST_SIZE) {
        service.send("PUT", &format!("/v1/listings/{id}/wishlist"), &admin, &Body::Empty)?;
    }
    Ok(())
}

/// Calls `work` for each number below `end` on 16 threads and returns the results in order. Prints the progress.
fn run_parallel<T: Send>(
    label: &str,
    end: usize,
    stop: &Interrupt,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let run_range = |numbers: Range<usize>| {
        numbers.map(|number| stop.check().and_then(|()| work(number))).collect::<Result<Vec<_>>>()
    };
    let (run_range, mut results, started) = (&run_range, Vec::with_capacity(end), Instant::now());
    for first in (0..end).step_by(PROGRESS_INTERVAL) {
        let last = end.min(first + PROGRESS_INTERVAL);
        thread::scope(|scope| {
            let size = (last - first).div_ceil(MAX_IDLE_CONNECTIONS);
            let ranges = (first..last).step_by(size).map(|from| from..last.min(from + size));
            let threads: Vec<_> = ranges.map(|range| scope.spawn(move || run_range(range))).collect();
            for thread in threads {
                results.extend(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
            }
            anyhow::Ok(())
        })?;
        eprintln!("{:>9} {label} in {:.0} s", results.len(), started.elapsed().as_secs_f64());
    }
    Ok(results)
}
