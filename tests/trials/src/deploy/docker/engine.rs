//! Calls of the docker program.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use stack::trial::Trial;

use crate::command::output;

/// Time until a container is healthy.
pub const HEALTHY_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs docker and returns its output.
pub fn docker(arguments: &[&str]) -> Result<String> {
    Ok(output(Command::new("docker").args(arguments))?.trim().to_owned())
}

/// Returns a member of a container's description, such as `.State.Pid`.
pub fn inspect(container: &str, member: &str) -> Result<String> {
    docker(&["container", "inspect", "--format", &format!("{{{{{member}}}}}"), container])
}

/// Returns the address of a container in a network.
pub fn address(container: &str, network: &str) -> Result<String> {
    inspect(container, &format!("(index .NetworkSettings.Networks {network:?}).IPAddress"))
}

/// Runs a command of a shell in a container, as its user.
pub fn run_in(container: &str, command: &str) -> Result<String> {
    docker(&["exec", container, "sh", "-c", command])
}

/// Kills the process of a container from the host, so that it looks like a crash: Docker takes `docker kill` for the
/// operator's wish and does not start the container again.
pub fn kill_process(container: &str) -> Result<()> {
    let kill = format!("kill -9 {}", inspect(container, ".State.Pid")?);
    docker(&["run", "--rm", "--pid=host", "--network=none", "debian:bookworm-slim", "sh", "-c", &kill])
        .map(drop)
}

/// Waits until Docker has started a container again and it is healthy.
pub fn wait_restarted(trial: &Trial<'_>, container: &str, restarts: u32) -> Result<()> {
    let is_started = || Ok(inspect(container, ".RestartCount")?.parse::<u32>()? > restarts);
    trial.wait_for("Docker starts the container again", HEALTHY_TIMEOUT, is_started)?;
    wait_healthy(trial, &[container.to_owned()]).map(drop)
}

/// Waits until containers are healthy and returns the time that it took.
pub fn wait_healthy(trial: &Trial<'_>, containers: &[String]) -> Result<Duration> {
    trial.wait_for("the containers are healthy", HEALTHY_TIMEOUT, || {
        let states = containers.iter().map(|container| inspect(container, ".State.Health.Status"));
        Ok(states.collect::<Result<Vec<_>>>()?.iter().all(|state| state == "healthy"))
    })
}

/// Removes images.
pub fn remove_images(ids: &[String]) {
    let mut command = Command::new("docker");
    command.args(["image", "rm", "--force"]).args(ids);
    if !ids.is_empty()
        && let Err(error) = output(&mut command)
    {
        eprintln!("  cannot remove the images: {error:#}");
    }
}
