//! `abuse`: clients that are slow, many, or send what would fill a memory, while others want to be served.

mod bombs;
mod costly;
mod honest;
mod idle;
mod large;
mod listings;
mod packed;
mod slow;
mod socket;
mod stage;
mod tenants;

use std::thread;

use anyhow::{Result, bail};

use self::stage::Stage;
use crate::trial::Trial;

/// Plays one bad client after the other.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let stage = Stage::new(trial)?;
    costly::requests(&stage)?;
    listings::requests(&stage)?;
    tenants::requests(&stage)?;
    bombs::batches(&stage)?;
    large::requests(&stage)?;
    // Mostly waiting: each service by itself, side by side.
    let of_system = || slow::readers(&stage).and_then(|()| slow::uploads(&stage));
    let of_logistics = || {
        slow::writers(&stage)?;
        slow::exports(&stage)?;
        idle::connections(&stage)
    };
    let of_few_files = || idle::few_files(&stage);
    thread::scope(|scope| {
        let all = [scope.spawn(of_system), scope.spawn(of_logistics), scope.spawn(of_few_files)];
        all.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| bail!("a thread panicked")))
    })?;
    stage.at_last()
}
