//! `replicas`: three replicas of logistics, two of system and two of livestock over one PostgreSQL, one Redis and one
//! S3 store, behind nginx with the configuration of deploy/nginx. What one does holds for all, and any of them may be
//! restarted, killed or frozen while people work.

mod cache;
mod files;
mod keys;
mod outbox;
mod pages;
mod places;
mod proxy;
mod rolling;
mod secrets;
mod settings;
mod stage;
mod works;

use anyhow::Result;

use self::stage::Stage;
use crate::cli::TrialArgs;
use crate::nginx;
use crate::stop::Stop;
use crate::trial::{self, Trial};

/// Runs it by itself.
pub fn command(args: &TrialArgs, stop: &Stop) -> Result<()> {
    nginx::provide(stop)?; // before minutes of building
    trial::run(args, stop, run)
}

/// One thing after the other, over the same replicas.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let mut stage = Stage::start(trial)?;
    settings::run(&stage)?;
    cache::run(&stage)?;
    secrets::run(&stage)?;
    files::run(&stage)?;
    pages::run(&stage)?;
    let keys = keys::run(&stage)?;
    outbox::run(&mut stage)?;
    rolling::run(&mut stage)?;
    keys.hold(&stage)?;
    stage.end()
}
