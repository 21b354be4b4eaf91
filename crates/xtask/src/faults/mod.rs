//! `faults`: what services depend on goes away, hangs, fills up or tells a wrong time, and comes back.

mod away;
mod clock;
mod disk;
mod endure;
mod load;
mod postgres;
mod receiver;
mod redis;
mod site;
mod stand_in;
mod store;
mod wire;

use anyhow::Result;

use crate::trial::Trial;

/// Breaks one thing after the other.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    redis::run(trial)?;
    store::run(trial)?;
    away::run(trial)?;
    disk::run(trial)?;
    clock::run(trial)?;
    postgres::run(trial)
}
