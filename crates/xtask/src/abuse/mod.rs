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

use anyhow::Result;

use self::stage::Stage;
use crate::trial::Trial;

/// Plays one bad client after the other.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let stage = Stage::new(trial)?;
    costly::requests(&stage)?;
    listings::requests(&stage)?;
    bombs::batches(&stage)?;
    large::requests(&stage)?;
    slow::readers(&stage)?;
    slow::writers(&stage)?;
    idle::connections(&stage)?;
    idle::few_files(&stage)?;
    Ok(())
}
