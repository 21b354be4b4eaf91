//! Growth of cost: searches with 10,000 rows, 100,000 and 1,000,000, as far as `--scale` goes, and a distant page.

use anyhow::Result;

use super::search::{LISTINGS, LOADS, Search};
use super::{BY_DATE, BY_PRICE, CSV, LOAD_PAGE, NEAR, NEAR_ALL_BREEDS};
use crate::datasets;
use crate::environment::BenchEnvironment;
use crate::measurement::Run;
use crate::report::{Bound::AtMost, COST_BY_ROWS};
use crate::wrk::Requests;
use testkit::processes::service::ServiceProcess;

/// Sizes of smaller databases, and their names. A short run has the first one only.
const SIZES: [(usize, &str); 3] = [(1_000, "1k rows"), (10_000, "10k rows"), (100_000, "100k rows")];

/// Measures searches of listings.
pub fn listings(env: &BenchEnvironment) -> Result<()> {
    let path = "/v1/listings?f:commodityType={category}&f:status=active-selling&{point}&sortBy=distance";
    let nearest = Search { name: "nearest listings", path, ..LISTINGS };
    measure(env, &[BY_DATE, BY_PRICE, NEAR, NEAR_ALL_BREEDS, nearest])
}

/// Measures searches of loads. A page behind many others is compared with the first one.
pub fn loads(env: &BenchEnvironment) -> Result<()> {
    let service = env.service(LOADS.service)?;
    let token = service.token(None);
    let cursor = service.cursor(&format!("/v1/loads?offset={}", env.rows / 25 * 20), &token)?;
    let run = |path: String| -> Result<Run<'_>> {
        let requests = Requests::get(env.temp_path("requests"), &token, &[], &[path])?;
        Ok(Box::new(move || env.load(service, &requests, LOADS.clients)))
    };
    let (first, distant) = (run("/v1/loads".to_owned())?, run(format!("/v1/loads?cursor={cursor}"))?);
    let targets = &[("× CPU of page 1", AtMost(1.3))];
    env.measure("growth: page by cursor", service, distant, vec![("page 1", first)], targets)?;
    let carrier = Search { name: "loads by carrier", path: "/v1/loads?f:carrierId=haul-{carrier}", ..LOADS };
    measure(env, &[LOAD_PAGE, carrier, CSV])
}

/// Compares searches with the same ones in smaller databases.
fn measure(env: &BenchEnvironment, searches: &[Search]) -> Result<()> {
    let is_smaller = |size: &(usize, &str)| size.0 < env.rows && (size.0 > 1_000 || env.rows < 10_000);
    let mut small: Vec<((usize, &str), ServiceProcess)> = Vec::new();
    for size in SIZES.into_iter().filter(is_smaller) {
        let name = searches[0].service;
        let database = env.create_database(&format!("{name}_{}", size.0))?;
        let service = env.start(name, env.temp_path(name), database)?;
        datasets::create(&service, size.0, env.stop)?;
        small.push((size, service));
    }
    for search in searches {
        if search.name == CSV.name {
            small.retain(|(size, _)| size.0 >= 100_000); // fewer have no 10,000 loads of an organiser
        }
        let run = |service| -> Result<Run<'_>> {
            let requests = search.requests(env, service, &[])?;
            Ok(Box::new(move || env.load(service, &requests, search.clients)))
        };
        let service = env.service(search.service)?;
        let limits = small.iter().map(|((_, name), service)| Ok((*name, run(service)?)));
        let limits = limits.collect::<Result<_>>()?;
        let targets = &[("× CPU of 10k rows", AtMost(2.0))];
        let row =
            env.measure(&format!("growth: {}", search.name), service, run(service)?, limits, targets)?;
        env.add_point(COST_BY_ROWS, search.name, env.rows, row.summary.cpu);
        for ((size, _), (_, summary)) in small.iter().zip(&row.limits) {
            env.add_point(COST_BY_ROWS, search.name, size.0, summary.cpu);
        }
    }
    Ok(())
}
