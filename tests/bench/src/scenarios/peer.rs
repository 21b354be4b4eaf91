//! The main operations of logistics, beside a generic back end with the same loads.

use anyhow::{Result, ensure};
use serde_json::Value;
use testkit::processes::service::ServiceProcess;

use super::loads::{search, write};
use crate::baselines::pocketbase::{self, POCKETBASE, PocketBase, RECORDS};
use crate::benchmark::{Baseline, Benchmark};
use crate::documents::COMPARED;
use crate::environment::BenchEnvironment;
use crate::load::{self, CLIENTS};
use crate::report::Target;
use crate::wrk::Requests;

/// Clients that create loads.
const WRITERS: usize = 16;

/// Compares pages of loads and their creation with PocketBase. On PostgreSQL there is nothing to compare.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    if env.postgres.is_some() {
        return Ok(());
    }
    let Some(peer) = PocketBase::start(env)? else { return Ok(()) };
    let service = env.logistics()?;
    insert_all(env, service, &peer)?;

    let (paths, _) = search::queries(false);
    let benchmark = search::benchmark(env, "peer: load page", paths, Target::None)?;
    let peer_paths =
        benchmark.paths.iter().map(|path| pocketbase::page_path(path)).collect::<Result<Vec<_>>>()?;
    for (path, peer_path) in benchmark.paths.iter().zip(&peer_paths).take(COMPARED) {
        let expected = service.get(path, &benchmark.token)?.json;
        let actual = Value::from_iter(peer.page(peer_path)?);
        let (expected, actual) = (dates(&expected), dates(&actual));
        ensure!(actual == expected, "PocketBase finds other loads: {path}: {actual:?} {expected:?}");
    }
    let peer_requests = Requests::get(env.temp_path("requests"), "", &[], &peer_paths)?;
    benchmark.against(env, POCKETBASE, || peer.measure(&peer_requests, CLIENTS, env.seconds))?;

    let bodies = write::create_bodies();
    let requests = write::create_requests(env, service)?;
    let peer_bodies =
        bodies.iter().map(|load| pocketbase::record(&load["organiserId"], &load["carrierId"], load));
    let peer_requests = write::post_requests(env, RECORDS, peer_bodies.map(|body| (String::new(), body)))?;
    let seconds = env.seconds;
    let baseline = Box::new(|| peer.measure(&peer_requests, WRITERS, seconds));
    Benchmark {
        name: format!("peer: create loads, {WRITERS} clients"),
        service,
        run: Box::new(|| load::send(env, service, &requests, WRITERS)),
        baselines: vec![Baseline { name: POCKETBASE, run: baseline }],
        target: Target::None,
    }
    .measure(env)
    .map(drop)
}

/// Copies all loads of the service.
fn insert_all(env: &BenchEnvironment, service: &ServiceProcess, peer: &PocketBase) -> Result<()> {
    let admin = service.token(None);
    let mut path = "/v1/loads?limit=100".to_owned();
    loop {
        env.stop.check()?;
        let response = service.get(&path, &admin)?;
        peer.insert(response.json.as_array().map(Vec::as_slice).unwrap_or_default())?;
        let Some(cursor) = response.cursor() else { return Ok(()) };
        path = format!("/v1/loads?limit=100&cursor={cursor}");
    }
}

/// Returns the delivery dates of loads in their order. Loads of one day may have another order.
fn dates(loads: &Value) -> Vec<&Value> {
    loads.as_array().into_iter().flatten().map(|load| &load["deliveryDateISO"]).collect()
}
