//! `containers`: the Compose files in containers, with the limits that they state.
//!
//! The base images are those of this machine. Missing ones are replaced by stand-ins of Debian's packages
//! (`deploy/docker/stand-ins.sh`). The images of the services are built by `deploy/Dockerfile`, from the programs of
//! the trial: compiling them in the stage `build` takes 28 minutes of CPU time.

mod client;
mod images;
mod project;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use stack::checkout::SERVICES;
use stack::trial::Trial;

use self::client::Client;
use self::images::Images;
use self::project::Project;

const CHECK: &str = "Compose files in containers";
/// The longest that a request may take while replicas come and go.
const SLOWEST: Duration = Duration::from_secs(5);

/// Starts everything, sends requests while replicas come, go and are replaced, and stops it.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let images = Images::build(trial)?;
    let project = Project::new(trial, &images)?;
    let begun = Instant::now();
    project.compose(&["up", "--detach", "--wait", "--no-build"])?;
    trial.note(CHECK, format!("healthy after {:.0} s", begun.elapsed().as_secs_f64()), "healthy");
    project.check_try_script()?;
    project.check_memory()?;
    check_replicas(trial, &project, &images)?;
    project.check_stop()
}

/// Replicas are added, removed and replaced, and a failed upgrade changes nothing. No request is lost. Replicas are not
/// killed: the proxy does not repeat a POST that a killed replica has received.
fn check_replicas(trial: &Trial<'_>, project: &Project<'_>, images: &Images<'_>) -> Result<()> {
    let scale = |count: u32| {
        let option = format!("logistics={count}");
        project.compose(&["up", "--detach", "--wait", "--no-build", "--no-recreate", "--scale", &option])
    };
    let client = Client::start(trial, project)?;
    trial.pause(Duration::from_secs(2))?;
    scale(3)?;
    trial.pause(Duration::from_secs(8))?;
    let replicas = project.containers("logistics")?;
    ensure!(replicas.len() == 3, "Compose runs {} replicas of logistics", replicas.len());
    let reached = project.reached_replicas()?;
    trial.expect(reached == 3, "replicas that the proxy finds", reached.to_string(), "3")?;

    scale(1)?;
    let logistics = project.containers("logistics")?;
    for service in SERVICES {
        project.replace(service, &images.version)?;
    }
    let replaced = project.containers("logistics")?;
    ensure!(
        replaced.len() == 1 && replaced != logistics,
        "replace.sh did not replace the replica of logistics"
    );

    let failed = images.build_failing("logistics")?;
    ensure!(project.replace("logistics", &failed).is_err(), "replace.sh succeeds though the migration fails");
    ensure!(project.containers("logistics")? == replaced, "a failed migration has changed the replicas");

    trial.pause(Duration::from_secs(4))?; // curl writes results in blocks
    let counts = client.stop()?;
    trial.note(
        "requests while replicas of the services come and go",
        format!("{} answered, slowest {:.1} s", counts.answered, counts.slowest.as_secs_f64()),
        "at most 5 s",
    );
    ensure!(counts.slowest <= SLOWEST, "the slowest request took {:?}", counts.slowest);
    trial.expect(counts.lost.is_empty(), "requests lost", format!("{:?}", counts.lost), "none")
}
