//! All containers are stopped, and started in the opposite order.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testkit::processes::checkout::SERVICES;
use testkit::processes::trial::Trial;

use super::clients::Clients;
use super::project::{CONTAINERS, Project};
use crate::deploy::docker::images::{docker, inspect, wait_healthy};

/// Time within which requests may fail once all containers are healthy.
const SETTLED: Duration = Duration::from_secs(10);
/// Time until Docker has started a container.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Time until PostgreSQL accepts connections.
const POSTGRES_TIMEOUT: Duration = Duration::from_secs(60);

/// Stops all containers, checks PostgreSQL's health check, starts them, and requires that everything works.
pub fn run(trial: &Trial<'_>, project: &Project<'_>, clients: &Clients<'_>) -> Result<()> {
    let containers = CONTAINERS.map(|name| project.containers(name));
    let containers = containers.into_iter().collect::<Result<Vec<_>>>()?;
    let postgres = containers[CONTAINERS.len() - 1].concat();
    let containers = containers.concat();
    stop(trial, project)?;
    check_health_check(trial, &postgres).context("PostgreSQL alone")?;

    let begun = Instant::now();
    for container in &containers {
        // Another program of this machine may have taken the proxy's port for a connection.
        let start = || Ok(docker(&["container", "start", container]).is_ok());
        trial.wait_for("Docker starts the container", START_TIMEOUT, start)?;
    }
    wait_healthy(trial, &containers)?;
    let figure = format!("healthy after {:.0} s", begun.elapsed().as_secs_f64());
    let outcomes = clients.during(&SERVICES, || Ok(()))?;
    // The services find the others again while a busy machine still starts them.
    let is_right = outcomes.failed_for <= SETTLED && outcomes.unexpected == 0 && outcomes.violations == 0;
    trial.expect(
        is_right,
        "all containers stopped, and started in the opposite order, PostgreSQL last",
        format!("{figure}; {}", outcomes.figures()),
        format!("failed within {} s, unexpected 0, violations 0", SETTLED.as_secs()),
    )
}

/// Stops all containers. The services must succeed, and nothing may start again.
fn stop(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let begun = Instant::now();
    let services = SERVICES.map(|name| project.containers(name));
    let services = services.into_iter().collect::<Result<Vec<_>>>()?.concat();
    project.compose(&["stop"])?;
    for service in &services {
        let code = inspect(service, ".State.ExitCode")?;
        ensure!(code == "0", "{} ended with status {code}", inspect(service, ".Name")?);
    }
    let figure = format!("ended after {:.0} s", begun.elapsed().as_secs_f64());
    trial.note("containers after `stop`", figure, "exit status 0 of the services");
    trial.pause(Duration::from_secs(2))?;
    let running = project.compose(&["ps", "--quiet", "--status=running"])?;
    ensure!(running.is_empty(), "containers have started again: {running}");
    Ok(())
}

/// PostgreSQL must not look healthy if its first start has failed before it created the database.
fn check_health_check(trial: &Trial<'_>, postgres: &str) -> Result<()> {
    docker(&["container", "start", postgres])?;
    let words: Vec<String> = serde_json::from_str(&inspect(postgres, "json .Config.Healthcheck.Test")?)?;
    let command: Vec<_> = words.iter().skip(1).map(String::as_str).collect();
    let check = || docker(&[&["exec", postgres], &*command].concat());
    trial.wait_for("PostgreSQL is healthy", POSTGRES_TIMEOUT, || Ok(check().is_ok()))?;
    let rename = |from: &str, to: &str| {
        let statement = format!("--command=ALTER DATABASE {from} RENAME TO {to}");
        docker(&["exec", postgres, "psql", "--username=postgres", "--dbname=postgres", &statement])
    };
    rename("drover", "renamed")?;
    let result = check();
    rename("renamed", "drover")?;
    docker(&["container", "stop", postgres])?;
    let figure = if result.is_ok() { "healthy" } else { "not healthy" };
    trial.expect(result.is_err(), "PostgreSQL without its database", figure, "not healthy")
}
