//! The work of each server: CPU time, and what pg_stat_statements counts.

use anyhow::{Context, Result};
use testkit::processes::process_stats;
use testkit::processes::servers::{CitusCluster, Cluster};

/// Statements of the services. Others are of Citus itself or of these counters.
const COUNTED: &str = "SELECT coalesce(sum(calls), 0), coalesce(sum(shared_blks_hit + shared_blks_read), 0) \
    FROM pg_stat_statements \
    WHERE query ~ '(loads|load_events|load_drivers|listings|listing_events|idempotency_keys|notifications)'";

/// The work of a server since its counters were reset.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work {
    /// CPU time in microseconds.
    pub cpu_us: f64,
    /// Statements.
    pub statements: f64,
    /// Pages of 8 KiB that they read, from memory or disk.
    pub pages: f64,
}

/// The servers of a cluster while they are measured.
pub struct Counters<'a> {
    cluster: &'a CitusCluster,
    cpu_us: Vec<f64>,
}

impl<'a> Counters<'a> {
    /// Resets the counters of all servers.
    pub fn reset(cluster: &'a CitusCluster) -> Result<Self> {
        for server in servers(cluster) {
            cluster.execute_on(server, "SELECT pg_stat_statements_reset()")?;
        }
        let cpu_us = servers(cluster).map(cpu_us).collect::<Result<_>>()?;
        Ok(Self { cluster, cpu_us })
    }

    /// Returns the work of each server since: that of the coordinator first.
    pub fn read(self) -> Result<Vec<Work>> {
        let cpu = servers(self.cluster).map(cpu_us).collect::<Result<Vec<_>>>()?;
        let read = |(server, (after, before)): (&Cluster, (f64, f64))| {
            let counted = self.cluster.execute_on(server, COUNTED)?;
            let (statements, pages) = counted.trim().split_once('|').context("two columns")?;
            Ok(Work { cpu_us: after - before, statements: statements.parse()?, pages: pages.parse()? })
        };
        servers(self.cluster).zip(cpu.into_iter().zip(self.cpu_us.iter().copied())).map(read).collect()
    }
}

fn servers(cluster: &CitusCluster) -> impl Iterator<Item = &Cluster> {
    std::iter::once(&cluster.coordinator).chain(&cluster.workers)
}

fn cpu_us(server: &Cluster) -> Result<f64> {
    process_stats::family_cpu_us(server.server.pid())
}
