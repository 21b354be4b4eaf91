//! `deploy`: checks the Compose files and the files of `deploy/`.
//!
//! Existing tools validate each file: Docker Compose, kustomize, kubernetes-validate, hadolint, shellcheck and
//! systemd-analyze. The rules that no tool has are in `compose.rs` and, for Kubernetes, in `pods.rs`, `references.rs`
//! and `routes.rs`. Nothing is started: `containers` runs the Compose files in containers.

pub mod compose;
mod docker;
mod files;
mod manifests;
mod objects;
mod pods;
mod references;
mod routes;
mod settings;

use std::collections::BTreeSet;

use anyhow::Result;
use testkit::processes::trial::Trial;

use self::compose::Compose;
pub use self::docker::run as run_in_containers;
use crate::deploy::settings::Settings;

/// Runs all checks.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    files::lint(trial)?;
    let compose = Compose::load(compose::MAIN)?;
    let settings = Settings::read(trial.binaries)?;
    let mut rules = compose.rules(&settings);
    for file in compose::SINGLE {
        rules.extend(Compose::load(file)?.rules(&settings));
    }
    rules.extend(manifests::rules(trial, &compose, &settings)?);
    let count = objects::check(&rules)?;
    trial.note("rules for the Compose files and deploy/kubernetes", format!("{count} hold"), "all hold");

    files::check_build_context(trial)?;
    files::check_secrets(trial, &Compose::load_demo()?)
}

/// Returns the paths that Kubernetes and Prometheus request from the services.
fn probe_paths(trial: &Trial<'_>) -> Result<BTreeSet<String>> {
    Ok(manifests::probe_paths(trial)?.into_iter().collect())
}
