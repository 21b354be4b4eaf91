//! PostgreSQL stops, crashes, loses connections and stalls, and servers of Citus crash, with all three services over
//! them. Shorter failures, latency and read-only servers are tested in crates/database/tests.

use std::cell::RefCell;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::Signal;
use testkit::processes::checkout::SERVICES;
use testkit::processes::databases::Databases;
use testkit::processes::environment::variables;
use testkit::processes::servers::{CitusCluster, Cluster, has_citus};
use testkit::processes::trial::Trial;

use super::fault::Fault;
use crate::chaos::TcpProxy;
use crate::traffic::Target;

/// Clusters are killed, so commits must be durable.
const DURABLE: &str = "synchronous_commit=on";
/// Limit of a response that waits for a worker that does not respond.
const CITUS_RESPONSE_LIMIT: Duration = Duration::from_secs(20);
/// Limit until a service has stopped, whatever its database does.
const STOP_LIMIT: Duration = Duration::from_secs(15);
/// Counts transactions on several servers that have not ended.
const PREPARED: &str =
    "SELECT (SELECT count(*) FROM pg_prepared_xacts) + (SELECT count(*) FROM pg_dist_transaction)";

/// Starts the services over the databases with these URLs.
fn start(
    trial: &Trial<'_>,
    folder: &str,
    url: impl Fn(&'static str) -> Result<String>,
) -> Result<Vec<Target>> {
    let wait = trial.short.then_some(("DATABASE__WAIT_MS", "1500"));
    let start = |name| {
        let service = trial.service(name, &format!("{folder}-{name}"), Some(url(name)?), variables(wait))?;
        Target::new(service)
    };
    SERVICES.into_iter().map(start).collect()
}

/// Tells all services to stop at once: dropping them would stop one after the other.
fn stop(targets: &[Target]) {
    for target in targets {
        target.service.signal(Signal::TERM);
    }
}

/// Runs all faults of a PostgreSQL server, or in the short form three.
pub fn postgres(trial: &Trial<'_>) -> Result<()> {
    // The services end before the databases are dropped, and those before the cluster ends.
    let cluster = Cluster::start_with(&trial.servers.programs().postgres, &[DURABLE], trial.stop)?;
    let (port, url) = (cluster.port, cluster.url());
    let cluster = RefCell::new(cluster);
    let (proxy, databases) = (TcpProxy::start(port)?, Databases::new(&url)?);
    let (own, proxied) = (format!(":{port}/"), format!(":{}/", proxy.port()));
    let targets = start(trial, "postgres", |name| Ok(databases.create(name)?.replace(&own, &proxied)))?;
    let result = postgres_faults(trial, &targets, &proxy, &cluster);
    stop(&targets);
    result
}

fn postgres_faults(
    trial: &Trial<'_>,
    targets: &[Target],
    proxy: &TcpProxy,
    cluster: &RefCell<Cluster>,
) -> Result<()> {
    let (seconds, cuts) = if trial.short { (3, 4) } else { (8, 20) };
    let fault =
        |name: &str| Fault::new(trial, name, targets.iter().collect()).lasting(Duration::from_secs(seconds));
    let end = |signal| cluster.borrow_mut().end(signal);
    let start = || cluster.borrow_mut().start_again(&[], trial.stop);
    let stall = |is_stalled| {
        proxy.stall(is_stalled);
        Ok(())
    };
    let stopped = fault("PostgreSQL stopped, started").shown_as("database").refusing();
    stopped.run(|| end(Signal::INT), start)?;
    let cut = || {
        for _ in 0..cuts {
            proxy.cut();
            sleep(Duration::from_millis(150));
        }
        Ok(())
    };
    fault(&format!("connections to PostgreSQL cut {cuts} times"))
        .lasting(Duration::ZERO)
        .run(cut, || Ok(()))?;
    let stalled = fault("PostgreSQL stalled").lasting(Duration::from_secs(seconds + 2));
    stalled.shown_as("database").refusing().run(|| stall(true), || stall(false))?;
    if trial.short {
        return Ok(());
    }
    let killed = fault("PostgreSQL killed (-9), started after 1 s").lasting(Duration::from_secs(1));
    killed.run(|| end(Signal::KILL), start)?;
    let forward_new_connections = || {
        proxy.stall_open_connections();
        stall(false)
    };
    let stalled = fault("PostgreSQL stalled, its open connections for good").refusing();
    stalled.run(|| stall(true), forward_new_connections)?;
    proxy.cut();
    stop_during_stall(trial, targets, proxy)
}

/// Checks that services stop in time although their threads wait for the database.
fn stop_during_stall(trial: &Trial<'_>, targets: &[Target], proxy: &TcpProxy) -> Result<()> {
    proxy.stall(true);
    for Target { service, .. } in targets {
        let settings = service.get("/v1/settings", &service.token(None));
        ensure!(settings.is_err(), "settings were read from a stalled database");
        let begun = Instant::now();
        service.signal(Signal::TERM);
        trial.wait_for("a service stops", 2 * STOP_LIMIT, || Ok(!service.is_running()))?;
        let took = begun.elapsed();
        trial.expect(
            took < STOP_LIMIT,
            format!("{} stopped while PostgreSQL is stalled", service.name),
            format!("{:.1} s", took.as_secs_f64()),
            format!("{} s", STOP_LIMIT.as_secs()),
        )?;
    }
    proxy.stall(false);
    Ok(())
}

/// Kills a worker and the coordinator of Citus.
pub fn citus(trial: &Trial<'_>) -> Result<()> {
    if !has_citus(&trial.databases, &trial.servers.postgres_url())? {
        trial.not_tried("a server of Citus fails", "PostgreSQL here has no extension citus");
        return Ok(());
    }
    let settings = [DURABLE, "citus.shard_count=8"];
    let mut cluster = CitusCluster::start(trial.servers.programs(), &settings, trial.stop)?;
    cluster.add_workers(2, trial.stop)?;
    let url = cluster.url();
    let cluster = RefCell::new(cluster);
    let targets = start(trial, "citus", |_| Ok(url.clone()))?;
    let result = citus_faults(trial, &targets, &cluster);
    stop(&targets);
    result
}

/// Selects the server that fails.
type Choose = fn(&mut CitusCluster) -> &mut Cluster;

fn citus_faults(trial: &Trial<'_>, targets: &[Target], cluster: &RefCell<CitusCluster>) -> Result<()> {
    let run = |name, choose: Choose, shown_as: Option<&'static str>| {
        let fault = Fault::new(trial, name, targets.iter().collect());
        let fault = fault.responses_within(CITUS_RESPONSE_LIMIT).refusing().shown_as(shown_as);
        let end = || choose(&mut cluster.borrow_mut()).end(Signal::KILL);
        fault.run(end, || choose(&mut cluster.borrow_mut()).start_again(&[], trial.stop))
    };
    run("a worker of Citus killed (-9), started", |cluster| &mut cluster.workers[0], None)?;
    let coordinator = "the coordinator of Citus killed (-9), started";
    run(coordinator, |cluster| &mut cluster.coordinator, Some("database"))?;
    let cluster = cluster.borrow();
    // What servers have prepared is committed or rolled back soon after the end of a fault.
    trial.wait_for("no transaction is prepared on any server", CITUS_RESPONSE_LIMIT, || {
        let servers = std::iter::once(&cluster.coordinator).chain(&cluster.workers);
        let counts =
            servers.map(|server| cluster.execute_on(server, PREPARED)).collect::<Result<Vec<_>>>()?;
        Ok(counts.iter().all(|count| count.trim() == "0"))
    })?;
    Ok(())
}
