//! Searches by one organisation: a row of the report each.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use serde_json::{Value, json};

use crate::environment::{BenchEnvironment, CLIENTS};
use crate::limits;
use crate::measurement::{Measurement, Run};
use crate::queries::Query;
use crate::report::{LATENCY_BY_CLIENTS, Row, Target};
use crate::wrk::Requests;
use testkit::market::listings::listing;
use testkit::market::organised_load;
use testkit::processes::http::Body;
use testkit::processes::service::ServiceProcess;

/// Connections of the plot of latency.
const ALL_CLIENTS: [usize; 5] = [1, 4, 16, 64, 256];
/// Threads that write in turn: enough for 150 writes/s that take 100 ms each.
const WRITERS: u32 = 16;
/// Number of the next listing or load that is written beside searches.
static NEXT: AtomicUsize = AtomicUsize::new(20_000_000);

/// A row of the report: requests of the organisation with most rows.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    pub name: &'static str,
    /// Whose rows are searched: livestock or logistics.
    pub service: &'static str,
    /// Path of the requests, and the SQL of their documents, for [`Query::many`].
    pub path: &'static str,
    pub sql: &'static str,
    /// Number of different requests.
    pub count: usize,
    pub headers: &'static [(&'static str, &'static str)],
    pub clients: usize,
    /// Commits per second meanwhile. Each commit changes the database under its readers.
    pub commits: u32,
    pub limits: &'static [Limit],
    pub targets: &'static [Target],
}

/// What a search is compared with.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// The SQL of the requests: the floor or pgbench.
    Sql,
    /// The same requests without headers.
    WithoutHeaders,
    /// The same requests without commits.
    Quiet,
}

/// Listings without a filter.
pub const LISTINGS: Search = Search {
    name: "listings",
    service: "livestock",
    path: "/v1/listings",
    sql: "",
    count: 300,
    headers: &[],
    clients: CLIENTS,
    commits: 0,
    limits: &[],
    targets: &[],
};
/// Loads without a filter.
pub const LOADS: Search = Search { name: "loads", service: "logistics", path: "/v1/loads", ..LISTINGS };
/// The organisation of most listings and loads.
const ORGANISATION: Option<&str> = Some("org-0");

impl Search {
    /// Returns the requests.
    pub fn queries(&self, env: &BenchEnvironment) -> Vec<Query> {
        Query::many(self.count, self.path, self.sql, env.postgres.is_some())
    }

    /// Writes the requests to a service for wrk.
    pub fn requests(
        &self,
        env: &BenchEnvironment,
        service: &ServiceProcess,
        headers: &[(&str, &str)],
    ) -> Result<Requests> {
        let paths: Vec<_> = self.queries(env).into_iter().map(|query| query.path).collect();
        Requests::get(env.temp_path("requests"), &service.token(ORGANISATION), headers, &paths)
    }

    /// Measures the row.
    pub fn measure(&self, env: &BenchEnvironment, name: &str) -> Result<Row> {
        let (service, clients) = (env.service(self.service)?, self.clients);
        let requests = &self.requests(env, service, self.headers)?;
        let plain = &self.requests(env, service, &[])?;
        let same =
            |name| -> (&'static str, Run<'_>) { (name, Box::new(move || env.load(service, plain, clients))) };
        let token = service.token(ORGANISATION);
        let limits = self.limits.iter().map(|limit| match limit {
            Limit::Sql => limits::reads(env, service, &token, &self.queries(env), plain, clients),
            Limit::WithoutHeaders => Ok(same("without headers")),
            Limit::Quiet => Ok(same("quiet")),
        });
        let limits = limits.collect::<Result<_>>()?;
        let load = || env.load(service, requests, clients);
        let run = || match self.commits {
            0 => load(),
            rate => beside_writes(rate, || write(service), load),
        };
        env.measure(name, service, Box::new(run), limits, self.targets)
    }
}

/// Creates one listing or load.
fn write(service: &ServiceProcess) -> Result<()> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (path, token, body) = if service.name == "livestock" {
        let listing = listing(number);
        (format!("/v1/listings/{}", listing.path), service.token(Some("org-7")), listing.body)
    } else {
        let organiser = format!("org-{}", number % 50);
        let mut body = organised_load(&organiser, &format!("W-{number}"), &Value::Null);
        body["carrierId"] = json!(format!("haul-{}", number % 30));
        ("/v1/loads/organiser".to_owned(), service.token(None), body)
    };
    service.send("POST", &path, &token, &Body::Json(body)).map(drop)
}

/// Measures a search from 1 to 256 clients.
pub fn by_clients(env: &BenchEnvironment, search: &Search) -> Result<()> {
    for_all_clients(env, "listing page", |clients, name| {
        Search { clients, limits: &[], targets: &[], ..*search }.measure(env, name)
    })
}

/// Measures something from 1 to 256 clients, for the plot of latency.
pub fn for_all_clients(
    env: &BenchEnvironment,
    name: &str,
    measure: impl Fn(usize, &str) -> Result<Row>,
) -> Result<()> {
    for clients in ALL_CLIENTS {
        let summary = measure(clients, &format!("clients: {name}, {clients}"))?.summary;
        for (percentile, us) in [("p50", summary.p50), ("p99", summary.p99), ("p99.9", summary.p999)] {
            env.add_point(LATENCY_BY_CLIENTS, &format!("{name}, {percentile}"), clients, Some(us));
        }
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
    let (done, started, write) = (&AtomicBool::new(false), Instant::now(), &write);
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
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|number| scope.spawn(move || writer(number))).collect();
        let measurement = read();
        done.store(true, Ordering::Relaxed);
        let expected = f64::from(rate) * started.elapsed().as_secs_f64();
        let mut made = 0;
        for writer in writers {
            made += writer.join().map_err(|_| anyhow!("a writer panicked"))??;
        }
        ensure!(f64::from(made) > expected * 0.8, "only {made} of {expected:.0} writes were made");
        measurement
    })
}
