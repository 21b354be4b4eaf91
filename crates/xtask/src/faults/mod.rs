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

use std::panic::resume_unwind;
use std::thread::scope;

use anyhow::Result;

use crate::trial::Trial;

type Part = fn(&Trial<'_>) -> Result<()>;

/// What has little to do with one another: the short form takes the three side by side.
const PARTS: [&[Part]; 3] =
    [&[postgres::run], &[store::run, away::run], &[redis::run, disk::run, clock::run]];

/// Breaks one thing after the other.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let all = |parts: &[Part]| parts.iter().try_for_each(|part| part(trial));
    if !trial.short {
        return PARTS.iter().try_for_each(|parts| all(parts));
    }
    scope(|scope| {
        let running = PARTS.map(|parts| scope.spawn(move || all(parts)));
        running.into_iter().try_for_each(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
