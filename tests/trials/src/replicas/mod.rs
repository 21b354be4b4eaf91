//! `replicas`: three replicas of logistics, two of system and two of livestock over one PostgreSQL, one Redis
//! and one S3 server, behind nginx with the configuration of deploy/nginx. The clocks of two replicas of each
//! service differ by twenty minutes. Every replica must see the effects of every other, and clients must not
//! notice when replicas are restarted, killed or frozen.

mod contention;
pub mod deployment;
mod feed;
mod files;
mod history;
mod outbox;
mod pages;
mod rolling;

use anyhow::Result;
use testkit::processes::trial::Trial;

use self::contention::Contention;
use self::deployment::Deployment;

/// Runs all checks over the same replicas.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let mut deployment = Deployment::start(trial)?;
    files::run(&deployment)?;
    pages::run(&deployment)?;
    outbox::run(&deployment)?;
    let contention = Contention::start(&deployment)?;
    let failures = feed::run(&mut deployment).and_then(|()| rolling::run(&mut deployment));
    // The history is checked even if a limit was exceeded.
    failures.and(contention.finish(&deployment))?;
    deployment.check_logs()
}
