//! `containers`: the Compose files in containers, with the limits that they state.
//!
//! The base images are those of this machine. Missing ones are replaced by stand-ins of Debian's packages
//! (`deploy/docker/stand-ins.sh`). The images of the services are built by `deploy/Dockerfile`, from the programs of
//! the trial: compiling them in the stage `build` takes 28 minutes of CPU time.

mod alone;
mod clients;
mod confinement;
mod failures;
mod images;
mod project;
mod replicas;
mod restart;
mod roles;
mod volumes;

use std::time::Instant;

use anyhow::Result;
use testkit::processes::trial::Trial;

use self::clients::Clients;
use self::images::Images;
use self::project::Project;
use crate::deploy::docker::clients::PlainHttp;

/// Starts everything, sends requests while containers come, go, fail and are replaced, and starts each service alone.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let images = Images::build(trial)?;
    let mut project = Project::new(trial, &images)?;
    let begun = Instant::now();
    project.start()?;
    let figure = format!("healthy after {:.0} s", begun.elapsed().as_secs_f64());
    trial.note("docker-compose.yml in containers", figure, "healthy");
    project::check_site(trial, &project, &super::probe_paths(trial)?)?;
    roles::check(trial, &project)?;
    confinement::check(trial, &project, &images)?;
    clients::look_at_console(trial, &project)?;

    let http = PlainHttp::start(trial, &project)?;
    let clients = Clients::new(trial, &project, &http)?;
    replicas::run(trial, &project, &images, &clients)?;
    roles::migrate(trial, &project, &images, &clients)?;
    failures::run(trial, &project, &clients)?;
    alone::run(trial, &project, &clients, &http)?;
    alone::run_console(trial, &project, &http)?;
    restart::run(trial, &project, &clients)?;
    clients::log_in_at_provider(trial, &mut project)
}
