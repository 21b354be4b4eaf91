//! Rows that Citus distributes: the same requests with one PostgreSQL server, and with two and four workers.
//!
//! All servers share this machine, so what counts is the CPU time of each.

use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::Signal;
use serde_json::Value;

use super::search::{LISTINGS, Search};
use super::writes::{BATCH_SIZE, create_requests, import_batch};
use super::{BY_DATE, LOAD_PAGE, NEAR_ALL_BREEDS};
use crate::datasets;
use crate::environment::BenchEnvironment;
use crate::measurement::Run;
use crate::wrk::Requests;
use testkit::market::listings::listing;
use testkit::market::loads::csv_batch;
use testkit::market::random::{Random, SEED};
use testkit::processes::databases::Databases;
use testkit::processes::process_stats;
use testkit::processes::servers::{CitusCluster, Cluster, Programs, Servers, has_citus};
use testkit::processes::service::ServiceProcess;

/// Workers that are added before each measurement.
const ADDED_WORKERS: [usize; 3] = [0, 2, 2];
/// Enough memory that one server has its rows there.
const SETTINGS: [&str; 2] = ["shared_buffers=512MB", "max_wal_size=8GB"];
/// Listings that are created one by one. More are copies of them.
const CREATED_LISTINGS: usize = 100_000;
/// Copies each listing with a new id and its event.
const COPY_LISTINGS: &str = "
    CREATE TEMPORARY TABLE copies AS SELECT id AS old_id, gen_random_uuid() AS new_id FROM livestock.listings
        ORDER BY created_at, id LIMIT LISTING_COUNT;
    CREATE TEMPORARY TABLE copied AS SELECT listings.*, new_id FROM livestock.listings JOIN copies ON id = old_id;
    UPDATE copied SET id = new_id, document = replace(document::text, id::text, new_id::text)::json;
    ALTER TABLE copied DROP COLUMN new_id;
    INSERT INTO livestock.listings SELECT * FROM copied;
    INSERT INTO livestock.listing_events (listing_id, user_id, to_status, at)
        SELECT id, document ->> 'userId', status, created_at FROM copied;
    DROP TABLE copies, copied;";
const HEADER: &str = "| Operation | workers | requests/s | p50, ms | CPU/request, µs: service | coordinator | all workers \
                      | busiest worker |\n|---|--:|--:|--:|--:|--:|--:|--:|\n";

/// Measures one server, distributes its tables over workers, and measures these.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    if env.postgres.is_some() {
        return Ok(()); // it starts servers of its own, whatever --database says
    }
    let url = Servers::start(env.stop)?;
    if !has_citus(&Databases::new(&url.postgres_url())?, &url.postgres_url())? {
        env.add_note("citus: NOT TRIED: PostgreSQL has no extension citus (docs/operations/citus.md)");
        return Ok(());
    }
    drop(url);
    let mut cluster = CitusCluster::start(&Programs::find()?, &SETTINGS, env.stop)?;
    let start = |name| env.start(name, env.temp_path(name), Some(cluster.url()));
    let (mut logistics, mut livestock) = (start("logistics")?, start("livestock")?);
    datasets::create(&logistics, env.rows, env.stop)?;
    let created = env.rows.min(CREATED_LISTINGS);
    datasets::create(&livestock, created, env.stop)?;
    for _ in 1..env.rows.div_ceil(created) {
        env.stop.check()?;
        cluster.execute(&COPY_LISTINGS.replace("LISTING_COUNT", &created.to_string()))?;
    }
    let mut table = HEADER.to_owned();
    for added in ADDED_WORKERS {
        let (is_first, started) = (cluster.workers.is_empty(), Instant::now());
        if added > 0 {
            cluster.add_workers(added, env.stop)?;
            if is_first {
                logistics.command(&["migrate"], &[])?; // moves all rows
                livestock.command(&["migrate"], &[])?;
            } else {
                cluster.rebalance()?;
            }
            let name = format!("citus: rows are on {} workers after", cluster.workers.len());
            env.add_value(&name, started.elapsed().as_secs_f64(), "s", None);
        }
        cluster.execute("VACUUM ANALYZE")?;
        for service in [&mut logistics, &mut livestock] {
            service.signal(Signal::TERM);
            service.wait_ended(Duration::from_secs(35))?;
            service.restart()?;
            service.wait_ready(Instant::now(), || env.stop.check())?;
        }
        for (name, mut run) in operations(env, &logistics, &livestock, cluster.workers.len())? {
            env.stop.check()?;
            let row = measure(&cluster, name, &mut run)?;
            eprint!("  {row}");
            table += &row;
        }
    }
    env.add_note(&table);
    Ok(())
}

/// What is measured with each number of workers.
fn operations<'a>(
    env: &'a BenchEnvironment,
    logistics: &'a ServiceProcess,
    livestock: &'a ServiceProcess,
    workers: usize,
) -> Result<Vec<(&'static str, Run<'a>)>> {
    let admin = logistics.token(None);
    let loads = logistics.get("/v1/loads?limit=100", &admin)?.json;
    let ids = loads.as_array().into_iter().flatten().filter_map(|load| load["id"].as_str());
    let paths: Vec<_> = ids.map(|id| format!("/v1/loads/{id}")).collect();
    let sheep = (0..1_000).map(listing).filter(|listing| listing.path == "sheep").take(100);
    let seller = livestock.token(Some("org-0"));
    let sheep: Vec<(String, Value)> = sheep.map(|listing| (seller.clone(), listing.body)).collect();
    let requests = |search: Search, service| search.requests(env, service, &[]);
    let facets =
        "/v1/listings?docs=false&f:commodityType={category}&f:status=active-selling&f:commodityBreed={breed}";
    let file = || env.temp_path("requests");
    let mut operations: Vec<(_, Run<'_>)> = Vec::new();
    for (name, service, clients, requests) in [
        ("load by id", logistics, 4, Requests::get(file(), &admin, &[], &paths)?),
        ("loads by organiser, carrier, dates", logistics, 4, requests(LOAD_PAGE, logistics)?),
        ("listings by date", livestock, 4, requests(BY_DATE, livestock)?),
        ("listings within 50 km", livestock, 4, requests(NEAR_ALL_BREEDS, livestock)?),
        ("facets of a breed", livestock, 4, requests(Search { path: facets, ..LISTINGS }, livestock)?),
        ("create a load, 16 clients", logistics, 16, create_requests(env, logistics)?),
        (
            "create a listing, 16 clients",
            livestock,
            16,
            Requests::post(file(), "/v1/listings/sheep", &sheep)?,
        ),
    ] {
        operations.push((name, Box::new(move || env.load(service, &requests, clients))));
    }
    let batch = csv_batch(&mut Random(SEED), 100_000_000 + 1_000_000 * workers, BATCH_SIZE); // new references
    let import = Box::new(move || import_batch(env, logistics, batch.clone()));
    operations.push(("row of a batch of 10,000 loads", import));
    Ok(operations)
}

/// Measures an operation: the CPU time of each server for each request.
fn measure(cluster: &CitusCluster, name: &str, run: &mut Run) -> Result<String> {
    let servers = || std::iter::once(&cluster.coordinator).chain(&cluster.workers);
    let cpu = |server: &Cluster| process_stats::family_cpu_us(server.server.pid());
    let before = servers().map(cpu).collect::<Result<Vec<_>>>()?;
    let run = run()?;
    let after = servers().map(cpu).collect::<Result<Vec<_>>>()?;
    let work: Vec<_> =
        after.iter().zip(before).map(|(after, before)| (after - before) / run.requests).collect();
    Ok(format!(
        "| {name} | {} | {:.0} | {:.1} | {:.0} | {:.0} | {:.0} | {:.0} |\n",
        work.len() - 1,
        run.requests / run.us * 1e6,
        run.p50 / 1e3,
        run.cpu.unwrap_or_default() / run.requests,
        work[0],
        work[1..].iter().sum::<f64>(),
        work[1..].iter().copied().fold(0.0, f64::max),
    ))
}
