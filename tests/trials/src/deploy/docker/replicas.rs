//! Replicas are added and removed, and a new one is never healthy. No request may be lost.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use testkit::processes::trial::Trial;

use super::clients::{Clients, Outcomes};
use super::images::Images;
use super::project::Project;
use crate::deploy::docker::images::{HEALTHY_TIMEOUT, inspect};

/// The longest that a request may take.
const SLOWEST: Duration = Duration::from_secs(5);
/// Time until the proxy finds new replicas (deploy/compose/upstreams.conf), and its log shows them.
const LOOKUP: Duration = Duration::from_secs(9);

/// Runs all of it, without replacements by healthy replicas: `roles::migrate` has those of livestock.
pub fn run(
    trial: &Trial<'_>,
    project: &Project<'_>,
    images: &Images<'_>,
    clients: &Clients<'_>,
) -> Result<()> {
    let outcomes = clients.during(&["logistics"], || {
        project.scale(3)?;
        trial.pause(LOOKUP)?;
        let reached = project.reached_replicas()?;
        trial.expect(reached == 3, "replicas that the proxy finds", reached.to_string(), "3")?;
        project.scale(1)
    })?;
    expect_none_lost(trial, "logistics from one replica to three and back", &outcomes)?;

    never_healthy(trial, project, images, clients)
}

/// The new replica of logistics is never healthy.
fn never_healthy(
    trial: &Trial<'_>,
    project: &Project<'_>,
    images: &Images<'_>,
    clients: &Clients<'_>,
) -> Result<()> {
    let waiting = images.build_waiting("logistics")?;
    let outcomes = clients.during(&["logistics"], || {
        let message = "a new replica is not healthy after 15 s. The old replicas continue.";
        expect_kept(project, "logistics", &waiting, Duration::from_secs(15), message)
    })?;
    expect_none_lost(trial, "a new replica of logistics that is never healthy", &outcomes)
}

/// Requires that `replace.sh` fails with a message, and leaves all containers as they were.
pub fn expect_kept(
    project: &Project<'_>,
    service: &str,
    version: &str,
    limit: Duration,
    message: &str,
) -> Result<()> {
    let before = project.all_containers()?;
    let Err(error) = project.replace(service, version, limit) else {
        bail!("replace.sh succeeds, but expected: {message}");
    };
    ensure!(error.to_string().contains(message), "replace.sh does not say: {message}\n{error}");
    ensure!(project.all_containers()? == before, "replace.sh has left or removed containers\n{error}");
    Ok(())
}

/// Replaces a service by another version of it.
pub fn replace(project: &Project<'_>, service: &str, version: &str) -> Result<()> {
    project.replace(service, version, HEALTHY_TIMEOUT)?;
    let images = project.containers(service)?;
    let images = images.iter().map(|container| inspect(container, ".Config.Image"));
    let images = images.collect::<Result<Vec<_>>>()?;
    ensure!(images == [format!("drover/{service}:{version}")], "the replicas of {service} are {images:?}");
    Ok(())
}

/// Requires that no request was lost.
pub fn expect_none_lost(trial: &Trial<'_>, check: &str, outcomes: &Outcomes) -> Result<()> {
    let is_right = outcomes.failed == 0 && outcomes.violations == 0 && outcomes.slowest <= SLOWEST;
    let limit = format!("failed 0, violations 0, slowest {} s", SLOWEST.as_secs());
    trial.expect(is_right, check, outcomes.figures(), limit)
}
