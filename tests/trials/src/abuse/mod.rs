//! `abuse`: many, large and expensive requests, while honest clients must be served. Slow clients and attacks of one
//! tenant on others are tested by the services' own tests.

mod bombs;
mod connections;
mod costly;
mod large;
mod searches;
mod services;
mod socket;
mod target;

use std::thread::scope;

use anyhow::{Result, bail};
use testkit::processes::trial::Trial;

use self::services::Services;

/// Runs all attacks.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let services = Services::start(trial)?;
    costly::run(&services)?;
    searches::run(&services)?;
    bombs::run(&services)?;
    large::run(&services)?;
    // Both mostly wait.
    scope(|scope| {
        let files = scope.spawn(|| connections::file_limit(trial));
        let idle = connections::idle(&services);
        files.join().unwrap_or_else(|_| bail!("a thread panicked")).and(idle)
    })?;
    services.check_memory()
}
