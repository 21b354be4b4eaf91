//! `faults`: what services depend on goes away, hangs, fills up or tells a wrong time, and comes back.

use anyhow::Result;

use crate::trial::Trial;

/// Breaks one thing after the other.
pub fn run(_trial: &Trial<'_>) -> Result<()> {
    Ok(())
}
