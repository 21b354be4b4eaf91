//! What is deployed: docker-compose.yml and the files of deploy/, held against the tools that know them and rules of
//! ours; and the services of docker-compose.yml run without containers, by the very commands, settings and secrets
//! that stand there.

mod compose;
mod container;
mod files;
mod manifests;
mod roles;
mod site;
mod tools;
mod tried;

use anyhow::{Result, ensure};

use self::compose::Compose;
use self::site::Site;
use self::tools::{Settings, Tools};
use crate::stop::Stop;
use crate::trial::Trial;

/// Finds what this needs, or fetches it.
pub fn provide(stop: &Stop) -> Result<()> {
    Tools::provide(stop).map(drop)
}

/// Checks the files, then runs what they say.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let tools = Tools::provide(trial.stop)?;
    let settings = Settings::of(trial.binaries)?;
    files::check(trial, &tools)?;
    let compose = Compose::read(&tools)?;
    let manifests = manifests::read(trial, &tools)?;
    let mut problems = compose.check(&settings);
    problems.extend(manifests::check(&manifests, &compose, &settings));
    ensure!(problems.is_empty(), "these rules are broken:\n{}", problems.join("\n"));
    trial.note("rules of ours for containers", "kept", "kept");
    let site = Site::start(trial, &tools, &compose)?;
    site.probe(&manifests::probes(&manifests))?;
    site.try_out()?;
    site.separate()?;
    site.stop()
}
