//! `replicas`: three replicas of logistics, two of system and two of livestock over one PostgreSQL, one Redis
//! and one S3 server, behind nginx with the configuration of deploy/nginx. The clocks of two replicas of each
//! service differ by twenty minutes. Every replica must see the effects of every other, and clients must not
//! notice when replicas are restarted, killed or frozen.

mod address_provider;
mod cache;
mod clients;
mod deployment;
mod files;
mod idempotency;
mod organisation_webhooks;
mod outbox;
mod pages;
pub mod proxy;
mod rolling;
mod saved_searches;
mod secrets;
mod settings;
mod webhook_signature;

use anyhow::Result;
use stack::trial::Trial;

use self::deployment::Deployment;

/// Runs all checks over the same replicas.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let mut deployment = Deployment::start(trial)?;
    settings::run(&deployment)?;
    cache::run(&deployment)?;
    secrets::run(&deployment)?;
    files::run(&deployment)?;
    pages::run(&deployment)?;
    let keys = idempotency::run(&deployment)?;
    outbox::run(&mut deployment)?;
    organisation_webhooks::run(&mut deployment)?;
    saved_searches::run(&mut deployment)?;
    rolling::run(&mut deployment)?;
    keys.check_replayed(&deployment)?;
    deployment.check_logs()
}
