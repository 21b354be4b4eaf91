//! `abuse`: clients that are slow, many, or send what would fill a memory, while others want to be served.

use anyhow::Result;

use crate::trial::Trial;

/// Plays one bad client after the other.
pub fn run(_trial: &Trial<'_>) -> Result<()> {
    Ok(())
}
