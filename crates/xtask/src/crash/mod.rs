//! `crash`: services killed at random moments of their work; what they acknowledged has to be there, once and whole.

use anyhow::Result;

use crate::trial::Trial;

/// Kills, starts again and counts, round after round.
pub fn run(_trial: &Trial<'_>) -> Result<()> {
    Ok(())
}
