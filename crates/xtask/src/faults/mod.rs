//! `faults`: what services depend on goes away, hangs, fills up or tells a wrong time, and comes back.

mod away;
mod clock;
mod disk;
mod endure;
mod load;
mod postgres;
pub mod receiver;
mod redis;
pub mod site;
mod stand_in;
mod store;
mod wire;

use std::sync::{Mutex, PoisonError};
use std::thread::scope;

use anyhow::Result;

pub use self::clock::library;
use crate::trial::Trial;

type Part = fn(&Trial<'_>) -> Result<()>;

/// What has little to do with one another: the short form takes the three side by side.
const PARTS: [&[Part]; 3] =
    [&[postgres::run], &[store::run, away::run], &[redis::run, disk::run, clock::run]];

/// Breaks one thing after the other.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    disk::look(trial)?;
    let all = |parts: &[Part]| parts.iter().try_for_each(|part| part(trial));
    if !trial.short {
        return PARTS.iter().try_for_each(|parts| all(parts));
    }
    // The first failure counts: the others end for it.
    let failed = Mutex::new(None);
    scope(|scope| {
        for parts in PARTS {
            let failed = &failed;
            scope.spawn(move || {
                if let Err(error) = all(parts) {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    trial.give_up();
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
