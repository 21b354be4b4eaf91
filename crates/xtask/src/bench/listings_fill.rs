//! Listings, created through the API.

use std::ops::Range;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use serde_json::json;

use super::listings_data::{ORGANISATIONS, PERIOD, listing};
use crate::client::{AT_ONCE, Body};
use crate::service::Service;
use crate::stop::Stop;

/// So many are done before the next line of progress.
const STRETCH: usize = 20_000;
const WISHES: usize = 50;

/// Listings of thousands of organisations; some are then closed, and some wished for.
pub fn fill(service: &Service, rows: usize, stop: &Stop) -> Result<()> {
    let tokens: Vec<_> =
        (0..ORGANISATIONS).map(|number| service.token(Some(&format!("org-{number}")))).collect();
    let ids = on_threads("listings created", rows, stop, |number| {
        let listing = listing(number);
        let path = format!("/v1/listings/{}", listing.path);
        let answer = service.send("POST", &path, &tokens[listing.organisation], &Body::Json(listing.body))?;
        answer.json["id"].as_str().map(str::to_owned).ok_or_else(|| anyhow!("{path} gave no id"))
    })?;
    let admin = service.token(None);
    on_threads("listings closed", rows.div_ceil(PERIOD), stop, |turn| {
        let status = if turn % 4 == 0 { "found" } else { "sold" };
        let path = format!("/v1/listings/{}/close", ids[turn * PERIOD]);
        service.send("POST", &path, &admin, &Body::Json(json!({"status": status})))
    })?;
    for id in ids.iter().skip(2).step_by((rows / WISHES).max(1)).take(WISHES) {
        service.send("PUT", &format!("/v1/listings/{id}/wishlist"), &admin, &Body::Empty)?;
    }
    Ok(())
}

/// Does this for each number below `end`, from several threads at once, and says how fast.
fn on_threads<T: Send>(
    done: &str,
    end: usize,
    stop: &Stop,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let share = |numbers: Range<usize>| {
        numbers.map(|number| stop.check().and_then(|()| work(number))).collect::<Result<Vec<_>>>()
    };
    let (share, mut all, begun) = (&share, Vec::with_capacity(end), Instant::now());
    for first in (0..end).step_by(STRETCH) {
        let last = end.min(first + STRETCH);
        thread::scope(|scope| {
            let each = (last - first).div_ceil(AT_ONCE);
            let shares = (first..last).step_by(each).map(|from| from..last.min(from + each));
            let threads: Vec<_> = shares.map(|numbers| scope.spawn(move || share(numbers))).collect();
            for thread in threads {
                all.extend(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
            }
            anyhow::Ok(())
        })?;
        eprintln!("{:>9} {done} in {:.0} s", all.len(), begun.elapsed().as_secs_f64());
    }
    Ok(all)
}
