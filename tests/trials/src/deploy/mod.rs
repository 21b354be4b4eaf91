//! `deploy`: checks the Compose files and the files of `deploy/`.
//!
//! Existing tools validate each file: Docker Compose, kustomize, kubernetes-validate, hadolint, shellcheck and
//! systemd-analyze. The rules that no tool has are in `compose.rs` and, for Kubernetes, in `pods.rs`, `references.rs`
//! and `routes.rs`. Nothing is started: `containers` runs the Compose files in containers.

pub mod compose;
mod container;
mod docker;
mod lint;
mod manifests;
mod objects;
mod pods;
mod references;
mod routes;
mod rule;
mod secrets;
mod settings;

use std::collections::BTreeSet;

use anyhow::Result;

pub use self::docker::run as run_in_containers;

use self::compose::Compose;
use self::settings::Settings;
use stack::trial::Trial;

/// Runs all checks.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    lint::run(trial)?;
    let compose = Compose::load(compose::MAIN)?;
    let settings = Settings::read(trial.binaries)?;
    let mut rules = compose.rules(&settings);
    for file in compose::SINGLE {
        rules.extend(Compose::load(file)?.rules(&settings));
    }
    rules.extend(manifests::rules(trial, &compose, &settings)?);
    let count = rule::check(&rules)?;
    trial.note("rules for the Compose files and deploy/kubernetes", format!("{count} hold"), "all hold");

    secrets::check(trial, &Compose::load_demo()?)
}

/// Returns the paths that Kubernetes and Prometheus request from the services.
fn probe_paths(trial: &Trial<'_>) -> Result<BTreeSet<String>> {
    Ok(manifests::probe_paths(trial)?.into_iter().collect())
}
