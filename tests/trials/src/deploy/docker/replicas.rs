//! Replicas are added, removed and replaced, also by another version and by the one before, and a migration fails. No
//! request may be lost.

use std::time::Duration;

use anyhow::{Result, ensure};
use stack::checkout::SERVICES;
use stack::trial::Trial;

use super::clients::{Clients, Outcomes};
use super::engine::inspect;
use super::images::Images;
use super::project::Project;

/// The longest that a request may take.
const SLOWEST: Duration = Duration::from_secs(5);
/// Time until the proxy finds new replicas (deploy/compose/upstreams.conf), and its log shows them.
const LOOKUP: Duration = Duration::from_secs(9);

/// Runs all of it. The short form upgrades logistics only.
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

    let upgraded = if trial.short { &SERVICES[1..2] } else { &SERVICES[..] };
    for service in upgraded {
        let outcomes = clients.during(&[service], || replace(project, service, &images.next))?;
        expect_none_lost(trial, &format!("upgrade of {service}"), &outcomes)?;
    }
    let outcomes = clients.during(&["logistics"], || replace(project, "logistics", &images.version))?;
    expect_none_lost(trial, "logistics rolled back", &outcomes)?;

    let before = project.containers("logistics")?;
    let failing = images.build_failing("logistics")?;
    let outcomes = clients.during(&["logistics"], || {
        let replaced = project.replace("logistics", &failing);
        ensure!(replaced.is_err(), "replace.sh succeeds though the migration fails");
        Ok(())
    })?;
    ensure!(project.containers("logistics")? == before, "a failed migration has changed the replicas");
    expect_none_lost(trial, "a migration of logistics that fails", &outcomes)
}

/// Replaces a service by another version of it.
fn replace(project: &Project<'_>, service: &str, version: &str) -> Result<()> {
    project.replace(service, version)?;
    let images = project.containers(service)?;
    let images = images.iter().map(|container| inspect(container, ".Config.Image"));
    let images = images.collect::<Result<Vec<_>>>()?;
    ensure!(images == [format!("drover/{service}:{version}")], "the replicas of {service} are {images:?}");
    Ok(())
}

fn expect_none_lost(trial: &Trial<'_>, check: &str, outcomes: &Outcomes) -> Result<()> {
    let is_right = outcomes.failed == 0 && outcomes.violations == 0 && outcomes.slowest <= SLOWEST;
    let limit = format!("failed 0, violations 0, slowest {} s", SLOWEST.as_secs());
    trial.expect(is_right, check, outcomes.figures(), limit)
}
