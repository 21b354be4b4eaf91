//! A worker of Citus stops and is killed, with all three services over a coordinator and two workers.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use stack::checkout::SERVICES;
use stack::environment::variables;
use stack::servers::{CitusCluster, has_citus};
use stack::trial::Trial;

use super::fault::Fault;
use crate::traffic::Target;

/// Servers are killed, so commits must be durable.
const SETTINGS: [&str; 2] = ["synchronous_commit=on", "citus.shard_count=8"];
/// Limit of a response that waits for a server that does not respond.
const RESPONSE_LIMIT: Duration = Duration::from_secs(20);

/// Runs all faults of a worker, or in the short form one.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    if !has_citus(&trial.databases, &trial.servers.postgres_url())? {
        trial.not_tried("a worker of Citus fails", "PostgreSQL here has no extension citus");
        return Ok(());
    }
    let mut cluster = CitusCluster::start(trial.servers.programs(), &SETTINGS, trial.stop)?;
    cluster.add_workers(2, trial.stop)?;
    let start = |name| {
        let wait = trial.short.then_some(("DATABASE__WAIT_MS", "1500"));
        let service = trial.service(name, &format!("citus-{name}"), Some(cluster.url()), variables(wait))?;
        Target::new(service)
    };
    let targets = SERVICES.into_iter().map(start).collect::<Result<Vec<_>>>()?;
    let cluster = RefCell::new(cluster);
    let result = fail_worker(trial, &targets, &cluster);
    // All at once: dropping them would stop one after the other.
    for target in &targets {
        target.service.signal(Signal::TERM);
    }
    result
}

fn fail_worker(trial: &Trial<'_>, targets: &[Target], cluster: &RefCell<CitusCluster>) -> Result<()> {
    let end = |signal| cluster.borrow_mut().workers[0].server.end(signal);
    let start = || cluster.borrow_mut().workers[0].start_again(&[], trial.stop);
    let fault = |name| {
        let fault = Fault::new(trial, name, targets.iter().collect());
        fault.responses_within(RESPONSE_LIMIT).refusing()
    };
    fault("a worker of Citus killed (-9), started").run(|| end(Signal::KILL), start)?;
    if !trial.short {
        let long = Duration::from_secs(8);
        fault("a worker of Citus stopped, started").lasting(long).run(|| end(Signal::INT), start)?;
    }
    let pending = cluster
        .borrow()
        .execute("SELECT recover_prepared_transactions(); SELECT count(*) FROM pg_dist_transaction")?;
    ensure!(pending.lines().last() == Some("0"), "transactions are still prepared: {pending}");
    Ok(())
}
