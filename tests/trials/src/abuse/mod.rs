//! `abuse`: slow, many, large and expensive requests, and attacks of one tenant, while honest clients must be served.

mod bombs;
mod compression;
mod costly;
mod file_limit;
mod honest;
mod idle;
mod large;
mod outcomes;
mod searches;
mod services;
mod slow;
mod socket;
mod target;
mod tenants;
mod workbook;

use std::thread::scope;

use anyhow::{Result, bail};
use stack::trial::Trial;

use self::services::Services;

/// Runs all attacks.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let services = Services::start(trial)?;
    costly::run(&services)?;
    searches::run(&services)?;
    tenants::run(trial)?;
    bombs::run(&services)?;
    large::run(&services)?;
    // These mostly wait: each service has its own thread.
    let attack_system = || slow::readers(&services).and_then(|()| slow::uploads(&services));
    let attack_logistics = || {
        slow::writers(&services)?;
        slow::exports(&services)?;
        idle::run(&services)
    };
    scope(|scope| {
        let threads = [
            scope.spawn(attack_system),
            scope.spawn(attack_logistics),
            scope.spawn(|| file_limit::run(trial)),
        ];
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| bail!("a thread panicked")))
    })?;
    services.check_memory()
}
