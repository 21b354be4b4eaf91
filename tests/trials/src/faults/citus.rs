//! A worker or the coordinator of Citus fails, with all three services over a coordinator and two workers.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;
use stack::checkout::SERVICES;
use stack::environment::variables;
use stack::servers::{CitusCluster, Cluster, has_citus};
use stack::trial::Trial;

use super::fault::Fault;
use crate::traffic::Target;

/// Servers are killed, so commits must be durable.
const SETTINGS: [&str; 2] = ["synchronous_commit=on", "citus.shard_count=8"];
/// Limit of a response that waits for a server that does not respond.
const RESPONSE_LIMIT: Duration = Duration::from_secs(20);
/// Counts transactions on several servers that have not ended.
const PREPARED: &str =
    "SELECT (SELECT count(*) FROM pg_prepared_xacts) + (SELECT count(*) FROM pg_dist_transaction)";
/// Time of the longer fault.
const LONG: Duration = Duration::from_secs(8);

/// Runs all faults, or in the short form two.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    if !has_citus(&trial.databases, &trial.servers.postgres_url())? {
        trial.not_tried("a server of Citus fails", "PostgreSQL here has no extension citus");
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
    let result = fail_servers(trial, &targets, &cluster);
    // All at once: dropping them would stop one after the other.
    for target in &targets {
        target.service.signal(Signal::TERM);
    }
    result
}

/// Selects the server that fails.
type Choose = fn(&mut CitusCluster) -> &mut Cluster;

fn fail_servers(trial: &Trial<'_>, targets: &[Target], cluster: &RefCell<CitusCluster>) -> Result<()> {
    let fault = |name| {
        let fault = Fault::new(trial, name, targets.iter().collect());
        fault.responses_within(RESPONSE_LIMIT).refusing()
    };
    let run = |fault: Fault<'_>, choose: Choose, signal| {
        let end = || choose(&mut cluster.borrow_mut()).end(signal);
        let start = || choose(&mut cluster.borrow_mut()).start_again(&[], trial.stop);
        fault.run(end, start)
    };
    let (worker, coordinator): (Choose, Choose) =
        (|cluster| &mut cluster.workers[0], |cluster| &mut cluster.coordinator);
    run(fault("a worker of Citus killed (-9), started"), worker, Signal::KILL)?;
    let killed = fault("the coordinator of Citus killed (-9), started").shown_as("database");
    run(killed, coordinator, Signal::KILL)?;
    if !trial.short {
        run(fault("a worker of Citus stopped, started").lasting(LONG), worker, Signal::INT)?;
    }
    let cluster = cluster.borrow();
    // What servers have prepared is committed or rolled back soon after the end of a fault.
    trial.wait_for("no transaction is prepared on any server", RESPONSE_LIMIT, || {
        let servers = std::iter::once(&cluster.coordinator).chain(&cluster.workers);
        let counts =
            servers.map(|server| cluster.execute_on(server, PREPARED)).collect::<Result<Vec<_>>>()?;
        Ok(counts.iter().all(|count| count.trim() == "0"))
    })?;
    Ok(())
}
