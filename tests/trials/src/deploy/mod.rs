//! `deploy`: checks the Compose files and the files of `deploy/`.
//!
//! Existing tools validate each file: Docker Compose, kustomize, kubernetes-validate, hadolint, shellcheck and
//! systemd-analyze. The rules that no tool has are in `compose.rs` and `manifests.rs`. Then PostgreSQL's and Redis'
//! accounts, the three services and the proxy run as processes, with the secrets, settings and nginx files of
//! docker-compose.yml, and `deploy/try.sh` uses them.
//!
//! `containers`: runs the Compose files in containers.

mod compose;
mod container;
mod docker;
mod lint;
mod manifests;
mod objects;
mod pods;
mod postgres;
mod rule;
mod secrets;
mod settings;
mod site;
mod site_checks;

use std::collections::BTreeSet;

use anyhow::Result;

pub use self::docker::run as run_in_containers;

use self::compose::Compose;
use self::secrets::Secrets;
use self::settings::Settings;
use self::site::Site;
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
    let mut probes = BTreeSet::new();
    for layer in ["base", "production"] {
        let manifests = manifests::build(trial, layer)?;
        let found = manifests::rules(&manifests, &compose, &settings);
        rules.extend(found.into_iter().map(|rule| rule.of(layer)));
        probes.extend(manifests.iter().flat_map(pods::probe_paths));
    }
    let count = rule::check(&rules)?;
    trial.note("rules for the Compose files and deploy/kubernetes", format!("{count} hold"), "all hold");

    let compose = Compose::load_demo()?;
    let secrets = Secrets::create(trial, &compose)?;
    let _cluster = postgres::start(trial, &compose, &secrets)?;
    let mut site = Site::start(trial, &compose, &secrets)?;
    site.check_probes(&probes)?;
    site.check_try_script()?;
    site.check_hidden_paths()?;
    site.check_redirect()?;
    postgres::check_separation(trial, &secrets)?;
    site.check_shutdown()
}
