//! Data of the services, created through their API from the generated fixtures.

use std::ops::Range;
use std::thread;

use anyhow::{Context, Result, anyhow};
use serde_json::json;

use testkit::market::listings::{LISTINGS_PER_CLOSED, ORGANISATION_COUNT, listing};
use testkit::market::loads::csv_batch;
use testkit::market::random::{Random, SEED};
use testkit::processes::http::{Body, Form, MAX_IDLE_CONNECTIONS, Response};
use testkit::processes::interrupt::Interrupt;
use testkit::processes::service::ServiceProcess;

const WISHLIST_SIZE: usize = 50;
/// Rows of a batch of loads.
const BATCH_SIZE: usize = 50_000;
/// Number of loads with a proof of delivery.
const PROOF_COUNT: usize = 500;

/// Creates the data of a service.
pub fn create(service: &ServiceProcess, count: usize, stop: &Interrupt) -> Result<()> {
    match service.name {
        "livestock" => create_listings(service, count, stop),
        "logistics" => create_loads(service, count, stop),
        _ => Ok(()),
    }
}

/// Creates listings one by one, closes some, and puts some on the wishlist of the administrator.
fn create_listings(service: &ServiceProcess, count: usize, stop: &Interrupt) -> Result<()> {
    let tokens: Vec<_> =
        (0..ORGANISATION_COUNT).map(|number| service.token(Some(&format!("org-{number}")))).collect();
    let ids = run_parallel(count, stop, |number| {
        let listing = listing(number);
        let path = format!("/v1/listings/{}", listing.path);
        let response =
            service.send("POST", &path, &tokens[listing.organisation], &Body::Json(listing.body))?;
        response.json["id"].as_str().map(str::to_owned).with_context(|| format!("{path} returned no id"))
    })?;
    eprintln!("{count:>9} listings created");
    let admin = service.token(None);
    run_parallel(count.div_ceil(LISTINGS_PER_CLOSED), stop, |number| {
        let status = if number % 4 == 0 { "found" } else { "sold" };
        let path = format!("/v1/listings/{}/close", ids[number * LISTINGS_PER_CLOSED]);
        service.send("POST", &path, &admin, &Body::Json(json!({"status": status})))
    })?;
    for id in ids.iter().skip(2).step_by((count / WISHLIST_SIZE).max(1)).take(WISHLIST_SIZE) {
        service.send("PUT", &format!("/v1/listings/{id}/wishlist"), &admin, &Body::Empty)?;
    }
    Ok(())
}

/// Imports loads in batches as an administrator and adds proofs of delivery to the first ones.
fn create_loads(service: &ServiceProcess, count: usize, stop: &Interrupt) -> Result<()> {
    let (admin, mut random, mut ids) = (service.token(None), Random(SEED), Vec::new());
    for first in (0..count).step_by(BATCH_SIZE) {
        stop.check()?;
        let size = BATCH_SIZE.min(count - first);
        let response = import(service, &admin, &[], csv_batch(&mut random, first, size))?;
        eprintln!("{:>9} loads imported", first + size);
        let created = response.json["ids"].as_array().into_iter().flatten();
        ids.extend(created.filter_map(|id| id.as_str().map(str::to_owned)).take(PROOF_COUNT));
    }
    for id in ids.iter().take(PROOF_COUNT) {
        let proof = json!({
            "weightNet": 28.4, "ticketNumber": "T-1", "vehicleRegistration": "VX21KLM", "files": null,
        });
        service.send("POST", &format!("/v1/loads/{id}/proof-of-delivery"), &admin, &Body::Json(proof))?;
    }
    Ok(())
}

/// Imports one batch, with these fields of the form.
pub fn import(
    service: &ServiceProcess,
    token: &str,
    fields: &[(&'static str, &str)],
    csv: Vec<u8>,
) -> Result<Response> {
    let fields = fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let form = Form { fields, file_name: "loads.csv", media_type: "text/csv", content: csv.into() };
    service.send("POST", "/v1/loads/batch", token, &Body::Form(form))
}

/// Calls `work` for each number below `end` on 16 threads and returns the results in order.
fn run_parallel<T: Send>(
    end: usize,
    stop: &Interrupt,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let run_range = |numbers: Range<usize>| {
        numbers.map(|number| stop.check().and_then(|()| work(number))).collect::<Result<Vec<_>>>()
    };
    let (run_range, size) = (&run_range, end.div_ceil(MAX_IDLE_CONNECTIONS));
    thread::scope(|scope| {
        let ranges = (0..end).step_by(size).map(|from| from..end.min(from + size));
        let threads: Vec<_> = ranges.map(|range| scope.spawn(move || run_range(range))).collect();
        let mut results = Vec::with_capacity(end);
        for thread in threads {
            results.extend(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
        }
        Ok(results)
    })
}
