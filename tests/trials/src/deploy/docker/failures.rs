//! Containers fail under traffic: out of memory, cut off from a network.

use std::time::Duration;

use anyhow::{Result, ensure};
use testkit::processes::trial::Trial;

use super::clients::Clients;
use super::project::Project;
use crate::deploy::docker::images::{docker, inspect, run_in, wait_restarted};

/// How long a network is cut off.
const PARTITION: Duration = Duration::from_secs(6);
/// The longest that a request may take without the database, or until the proxy finds out that a service cannot be
/// reached (net.ipv4.tcp_keepalive_time in deploy/compose/parts.yml).
const SLOWEST: Duration = Duration::from_secs(15);
/// Time until a single replica works again.
const RECOVERY: Duration = Duration::from_secs(20);
/// Allocates memory until the kernel kills a process of the container, first the service.
const ALLOCATE: &str = "echo 1000 >/proc/1/oom_score_adj && exec tail /dev/zero";

/// Runs all failures.
pub fn run(trial: &Trial<'_>, project: &Project<'_>, clients: &Clients<'_>) -> Result<()> {
    exhaust_memory(trial, project, clients)?;
    cut_network(trial, project, clients, "data")?;
    cut_network(trial, project, clients, "front")
}

/// Lets the only replica of livestock exceed `mem_limit`.
fn exhaust_memory(trial: &Trial<'_>, project: &Project<'_>, clients: &Clients<'_>) -> Result<()> {
    let victim = project.container("livestock")?;
    let restarts = inspect(&victim, ".RestartCount")?.parse()?;
    let outcomes = clients.during(&["livestock"], || {
        // It ends with the container, by a signal.
        let _ = run_in(&victim, ALLOCATE);
        wait_restarted(trial, &victim, restarts)
    })?;
    ensure!(inspect(&victim, ".State.OOMKilled")? == "true", "livestock was not out of memory");
    trial.expect(
        outcomes.failed_for <= RECOVERY && outcomes.unexpected == 0 && outcomes.violations == 0,
        "the only replica of livestock out of memory",
        outcomes.figures(),
        format!("failed within {} s, unexpected 0, violations 0", RECOVERY.as_secs()),
    )
}

/// Cuts all replicas of logistics off a network: `data` has PostgreSQL, `front` has the proxy and system.
fn cut_network(trial: &Trial<'_>, project: &Project<'_>, clients: &Clients<'_>, name: &str) -> Result<()> {
    let (replicas, network) = (project.containers("logistics")?, project.network(name));
    let each = |words: &[&str]| {
        let run = |replica: &String| docker(&[&["network"], words, &[&network, replica]].concat()).map(drop);
        replicas.iter().try_for_each(run)
    };
    let outcomes = clients.during(&["logistics"], || {
        each(&["disconnect"])?;
        trial.pause(PARTITION)?;
        each(&["connect", "--alias", "logistics"]) // Docker forgets the names that Compose gave it
    })?;
    // A request whose connection outlives the cut succeeds after it, so it may be that none fails.
    let is_noticed = outcomes.failed > 0 || outcomes.slowest >= PARTITION;
    let is_right = is_noticed
        && outcomes.unexpected == 0
        && outcomes.violations == 0
        && outcomes.slowest <= SLOWEST
        && outcomes.recovered <= RECOVERY;
    trial.expect(
        is_right,
        format!("logistics without the network `{name}` for {} s", PARTITION.as_secs()),
        outcomes.figures(),
        format!(
            "failed or waited, unexpected 0, violations 0, slowest {} s, recovered after {} s",
            SLOWEST.as_secs(),
            RECOVERY.as_secs()
        ),
    )
}
