//! PostgreSQL servers with the extension Citus: a coordinator, and workers that have the rows.

use anyhow::Result;

use super::cluster::Cluster;
use crate::databases::Databases;
use crate::interrupt::Interrupt;
use crate::servers::programs::Programs;

/// Settings of each server.
pub const CITUS_SETTINGS: [&str; 9] = [
    // A coordinator forwards errors of its workers in their language.
    "lc_messages=C",
    // The second library counts the statements of each server and the pages that they read.
    "shared_preload_libraries=citus,pg_stat_statements",
    "citus.local_hostname=127.0.0.1",
    // These servers have no certificates.
    "citus.node_conninfo=sslmode=disable",
    // Followers of events wait for transactions on several servers until Citus knows their end.
    "citus.recover_2pc_interval=200ms",
    // Shards are moved by logical replication.
    "wal_level=logical",
    // Each table has many parts.
    "max_locks_per_transaction=512",
    // Citus has a process for each database, and tests have many.
    "max_worker_processes=300",
    "pg_stat_statements.track=all",
];

/// The database of the services on all servers.
const DATABASE: &str = "drover";

/// Returns true if the extension is installed at a server.
pub fn has_citus(psql: &Databases, url: &str) -> Result<bool> {
    let found = psql.execute(url, "", "SELECT count(*) FROM pg_available_extensions WHERE name = 'citus'")?;
    Ok(found.trim() == "1")
}

/// A coordinator with a database for the services, and workers.
#[derive(Debug)]
pub struct CitusCluster {
    /// `psql` at these servers.
    psql: Databases,
    /// The server that services connect to.
    pub coordinator: Cluster,
    /// The servers that have the rows.
    pub workers: Vec<Cluster>,
}

impl CitusCluster {
    /// Starts a coordinator, whose database is plain PostgreSQL until [`add_workers`](Self::add_workers).
    pub fn start(programs: &Programs, settings: &[&'static str], stop: &Interrupt) -> Result<Self> {
        let settings = [&CITUS_SETTINGS, settings].concat();
        let coordinator = Cluster::start_with(&programs.postgres, &settings, stop)?;
        let psql = Databases::new(&coordinator.url())?;
        let cluster = Self { psql, coordinator, workers: Vec::new() };
        cluster.create_database(&cluster.coordinator)?;
        Ok(cluster)
    }

    /// Starts workers and makes them known to the coordinator. Tables that are spread later are spread over them.
    pub fn add_workers(&mut self, count: usize, stop: &Interrupt) -> Result<()> {
        let coordinator = self.coordinator.port;
        self.execute(&format!(
            "CREATE EXTENSION IF NOT EXISTS citus; SELECT citus_set_coordinator_host('127.0.0.1', {coordinator})"
        ))?;
        for _ in 0..count {
            let worker = self.coordinator.start_another(stop)?;
            self.create_database(&worker)?;
            self.psql.execute(&worker.url_to(DATABASE), "", "CREATE EXTENSION citus")?;
            self.execute(&format!("SELECT citus_add_node('127.0.0.1', {})", worker.port))?;
            self.workers.push(worker);
        }
        Ok(())
    }

    /// Moves shards until all workers have about as many rows. Writes wait meanwhile, which makes it faster.
    pub fn rebalance(&self) -> Result<()> {
        self.execute("SELECT citus_rebalance_start(shard_transfer_mode => 'block_writes'); SELECT citus_rebalance_wait()").map(drop)
    }

    /// URL of the database for services.
    pub fn url(&self) -> String {
        self.coordinator.url_to(DATABASE)
    }

    /// Runs statements on the coordinator and returns their rows, unaligned.
    pub fn execute(&self, statements: &str) -> Result<String> {
        self.execute_on(&self.coordinator, statements)
    }

    /// Runs statements on one of the servers and returns their rows, unaligned.
    pub fn execute_on(&self, server: &Cluster, statements: &str) -> Result<String> {
        self.psql.execute(&server.url_to(DATABASE), "", statements)
    }

    fn create_database(&self, server: &Cluster) -> Result<()> {
        self.psql.execute(&server.url(), "", &format!("CREATE DATABASE {DATABASE}"))?;
        self.execute_on(server, "CREATE EXTENSION pg_stat_statements").map(drop)
    }
}
