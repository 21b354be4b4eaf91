//! Logistics and livestock over one cluster.

use std::fmt::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::Signal;
use testkit::processes::servers::{CitusCluster, Programs};
use testkit::processes::service::ServiceProcess;

use crate::datasets;
use crate::environment::BenchEnvironment;

/// Enough memory that one server has its rows there.
const SETTINGS: [&str; 2] = ["shared_buffers=512MB", "max_wal_size=8GB"];
/// Limit until livestock has read all listings for its facets.
const READY_LIMIT: Duration = Duration::from_secs(600);
/// Listings that are created one by one. More are copies of them.
const CREATED_LISTINGS: usize = 100_000;
/// Copies each listing with a new id and its event.
const COPY_LISTINGS: &str = include_str!("copy_listings.sql");

/// The services, and the servers below them.
pub struct Services {
    /// Logistics.
    pub logistics: ServiceProcess,
    /// Livestock.
    pub livestock: ServiceProcess,
    /// The servers.
    pub cluster: CitusCluster,
}

impl Services {
    /// Starts the services over one server.
    pub fn start(env: &BenchEnvironment, programs: &Programs) -> Result<Self> {
        let cluster = CitusCluster::start(programs, &SETTINGS, env.stop)?;
        let start = |name| env.start(name, env.temp_path(name), Some(cluster.url()));
        Ok(Self { logistics: start("logistics")?, livestock: start("livestock")?, cluster })
    }

    /// Creates the data of the run.
    pub fn create_data(&mut self, env: &BenchEnvironment) -> Result<()> {
        datasets::loads::create(&self.logistics, env.rows, env.stop)?;
        let created = env.rows.min(CREATED_LISTINGS);
        datasets::listings::create(&self.livestock, created, env.stop)?;
        for _ in 1..env.rows.div_ceil(created) {
            env.stop.check()?;
            self.cluster.execute(&COPY_LISTINGS.replace("LISTING_COUNT", &created.to_string()))?;
        }
        self.cluster.execute("VACUUM ANALYZE")?;
        self.restart(env)
    }

    /// Adds workers and moves rows there. The first ones get all rows: the services distribute their tables.
    pub fn add_workers(&mut self, env: &BenchEnvironment, count: usize) -> Result<()> {
        let is_first = self.cluster.workers.is_empty();
        let started = Instant::now();
        self.cluster.add_workers(count, env.stop)?;
        if is_first {
            for service in [&self.logistics, &self.livestock] {
                service.command(&["migrate"], &[])?;
            }
        } else {
            self.cluster.rebalance()?;
        }
        let (seconds, workers) = (started.elapsed().as_secs_f64(), self.cluster.workers.len());
        env.add_metric(format!("citus: rows are on {workers} workers after"), seconds, None, "s");
        self.cluster.execute("ANALYZE")?;
        self.restart(env)
    }

    /// The service of a name.
    pub fn service(&self, name: &str) -> &ServiceProcess {
        if name == self.logistics.name { &self.logistics } else { &self.livestock }
    }

    /// Starts the services again and waits until they are ready.
    pub fn restart(&mut self, env: &BenchEnvironment) -> Result<()> {
        for service in [&mut self.logistics, &mut self.livestock] {
            service.signal(Signal::TERM);
            service.wait_ended(Duration::from_secs(35))?;
            service.restart()?;
            let begun = Instant::now();
            while !service.is_ready() {
                env.stop.check()?;
                service.check_running()?;
                ensure!(
                    begun.elapsed() < READY_LIMIT,
                    "{} is not ready: {}",
                    service.name,
                    service.log_end()
                );
                sleep(Duration::from_millis(200));
            }
        }
        Ok(())
    }

    /// Describes how many loads and listings each worker has.
    pub fn rows_per_worker(&self) -> Result<String> {
        let mut text = "citus: rows of each worker: ".to_owned();
        for table in ["logistics.loads", "livestock.listings"] {
            let rows = self.cluster.execute(&format!(
                "SELECT string_agg(rows::text, ', ') FROM (SELECT sum(result::bigint) AS rows \
                 FROM run_command_on_shards('{table}', 'SELECT count(*) FROM %s') \
                 JOIN citus_shards USING (shardid) GROUP BY nodeport ORDER BY nodeport) AS workers"
            ))?;
            write!(text, "{table} {}; ", rows.trim())?;
        }
        Ok(text.trim_end_matches("; ").to_owned())
    }
}
