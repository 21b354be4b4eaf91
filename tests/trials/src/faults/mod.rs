//! `faults`: each dependency of the services fails under traffic and recovers. The services must refuse, never lie, and
//! work again without a restart.

mod citus;
mod disk;
mod fault;
mod postgres;
mod redis;
mod s3;
mod system;

use std::thread::scope;

use anyhow::Result;
use parking_lot::Mutex;
use stack::trial::Trial;

type Part = fn(&Trial<'_>) -> Result<()>;

/// Independent groups. The short form runs them at the same time.
const GROUPS: [&[Part]; 3] =
    [&[postgres::run], &[s3::run, system::run, citus::run], &[redis::run, disk::run]];

/// Runs all parts.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    disk::check_mount(trial)?;
    let run_group = |parts: &[Part]| parts.iter().try_for_each(|part| part(trial));
    if !trial.short {
        return GROUPS.into_iter().try_for_each(run_group);
    }
    let first_error = Mutex::new(None);
    scope(|scope| {
        for parts in GROUPS {
            let first_error = &first_error;
            scope.spawn(move || {
                if let Err(error) = run_group(parts) {
                    first_error.lock().get_or_insert(error);
                    trial.give_up();
                }
            });
        }
    });
    first_error.into_inner().map_or(Ok(()), Err)
}
