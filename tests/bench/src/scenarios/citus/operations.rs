//! What is measured with each number of servers.

use anyhow::{Context, Result};
use serde_json::Value;
use testkit::market::listings::{LARGE_ORGANISATION, listing};
use testkit::market::loads::LARGE_ORGANISER;
use testkit::processes::service::ServiceProcess;

use super::cluster::Services;
use crate::environment::BenchEnvironment;
use crate::scenarios::listings::search::{BY_DATE, NEAR_ALL_BREEDS};
use crate::scenarios::loads::{search, write};
use crate::wrk::Requests;

/// Clients of a search.
const CLIENTS: usize = 4;
/// Rows of a batch.
const BATCH_SIZE: usize = 10_000;
/// Listings that are created in turn.
const LISTING_COUNT: usize = 100;
/// Pages whose ids are requested one by one.
const ID_PAGES: usize = 3;

/// Something that a service does.
pub struct Operation {
    /// Its name in the table.
    pub name: &'static str,
    /// The service that does it.
    pub service: &'static str,
    /// How it is done.
    pub work: Work,
}

/// How an operation is done.
pub enum Work {
    /// Requests from a number of clients.
    Requests(Requests, usize),
    /// The import of a batch with a number of rows.
    Batch(usize),
}

/// All operations.
pub fn all(env: &BenchEnvironment, services: &Services) -> Result<Vec<Operation>> {
    let Services { logistics, livestock, .. } = services;
    let (loads, listings) = (ids(logistics, "/v1/loads")?, ids(livestock, "/v1/listings")?);
    let facets =
        BY_DATE.queries(true).0.into_iter().map(|path| path.replacen(BY_DATE.sorting, "docs=false", 1));
    let each_of = |prefix: &str| (0..50).map(|number| format!("{prefix}{number}")).collect::<Vec<_>>();
    let reads = [
        ("load by id", logistics, None, loads),
        ("loads by organiser", logistics, None, each_of("/v1/loads?f:organiserId=org-")),
        ("loads by carrier", logistics, None, each_of("/v1/loads?f:carrierId=haul-")),
        ("loads by organiser, carrier, dates", logistics, Some(LARGE_ORGANISER), search::queries(true).0),
        ("listing by id", livestock, None, listings),
        ("listings by date", livestock, Some(LARGE_ORGANISATION), BY_DATE.queries(true).0),
        ("listings within 50 km", livestock, Some(LARGE_ORGANISATION), NEAR_ALL_BREEDS.queries(true).0),
        ("listings of an organisation", livestock, None, each_of("/v1/listings?f:organisationId=org-")),
        ("facets of a breed", livestock, Some(LARGE_ORGANISATION), facets.collect()),
    ];
    let mut operations = Vec::new();
    for (name, service, organisation, paths) in reads {
        let requests = Requests::get(env.temp_path("requests"), &service.token(organisation), &[], &paths)?;
        operations.push(Operation { name, service: service.name, work: Work::Requests(requests, CLIENTS) });
    }
    for (name, clients) in [("create a load, 16 clients", 16), ("create a load, 64 clients", 64)] {
        let work = Work::Requests(write::create_requests(env, logistics)?, clients);
        operations.push(Operation { name, service: "logistics", work });
    }
    let work = Work::Requests(create_listings(env, livestock)?, 16);
    operations.push(Operation { name: "create a listing, 16 clients", service: "livestock", work });
    let batch = Work::Batch(BATCH_SIZE);
    operations.push(Operation { name: "row of a batch of 10,000 loads", service: "logistics", work: batch });
    Ok(operations)
}

/// Returns the paths of rows on the first pages.
fn ids(service: &ServiceProcess, path: &str) -> Result<Vec<String>> {
    let (token, mut paths) = (service.token(None), Vec::new());
    for page in 0..ID_PAGES {
        let rows = service.get(&format!("{path}?limit=100&offset={}", 100 * page), &token)?.json;
        for row in rows.as_array().context("a page is no array")? {
            paths.push(format!("{path}/{}", row["id"].as_str().unwrap_or_default()));
        }
    }
    Ok(paths)
}

/// Returns requests that create listings of sheep, all by one organisation.
fn create_listings(env: &BenchEnvironment, service: &ServiceProcess) -> Result<Requests> {
    let token = service.token(Some(LARGE_ORGANISATION));
    let bodies =
        (0..LISTING_COUNT * 10).map(listing).filter(|listing| listing.path == "sheep").take(LISTING_COUNT);
    let bodies = bodies.map(|listing| -> (String, Value) { (token.clone(), listing.body) });
    write::post_requests(env, "/v1/listings/sheep", bodies)
}
