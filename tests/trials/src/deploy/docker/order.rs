//! Services are stopped and started in several orders, while the others serve reads and writes.

use anyhow::Result;
use stack::trial::Trial;

use super::clients::Clients;
use super::engine::{docker, inspect, wait_healthy};
use super::project::Project;

/// Services to stop, in this order, and to start, in this order.
const ORDERS: [(&[&str], &[&str]); 6] = [
    (&["system"], &["system"]),
    (&["logistics"], &["logistics"]),
    (&["livestock"], &["livestock"]),
    (&["system", "logistics"], &["logistics", "system"]),
    (&["logistics", "livestock"], &["logistics", "livestock"]),
    (&["livestock", "system"], &["livestock", "system"]),
];

/// Tries the orders.
pub fn run(trial: &Trial<'_>, project: &Project<'_>, clients: &Clients<'_>) -> Result<()> {
    for (stopped, started) in ORDERS {
        let containers = started.iter().map(|service| project.container(service));
        let containers = containers.collect::<Result<Vec<_>>>()?;
        let mut codes = Vec::new();
        let outcomes = clients.during_writes(stopped, || {
            for service in stopped {
                project.compose(&["stop", service])?;
            }
            for container in &containers {
                codes.push(inspect(container, ".State.ExitCode")?);
                docker(&["container", "start", container])?;
            }
            wait_healthy(trial, &containers).map(drop)
        })?;
        let is_right = outcomes.failed > 0
            && outcomes.unexpected == 0
            && outcomes.violations == 0
            && codes.iter().all(|code| code == "0");
        trial.expect(
            is_right,
            format!("{} stopped, {} started", stopped.join(", "), started.join(", ")),
            format!("exit status {}; {}", codes.join(", "), outcomes.figures()),
            "exit status 0, unexpected 0, violations 0",
        )?;
    }
    Ok(())
}
