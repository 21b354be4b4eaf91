//! Runs the commands of docs/operations as they stand there.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use stack::{checkout, tools};

use crate::markdown;

/// The blocks that the drill runs (` ```sh NAME `).
pub const BLOCKS: [&str; 5] =
    ["prepare-postgres", "backup-sqlite", "backup-postgres", "restore-sqlite", "restore-postgres"];

/// Runs the block of this name with these variables. Its programs are found in these folders first.
pub fn run(name: &str, programs: &[&Path], variables: &[(&str, String)]) -> Result<()> {
    ensure!(BLOCKS.contains(&name), "{name} is not a block of the drill");
    let pages = markdown::read(&markdown::files()?)?;
    let block = pages.iter().find_map(|page| page.block("sh", name).ok());
    let block = block.with_context(|| format!("no page has the block `{name}`"))?;
    let mut shell = Command::new("sh");
    shell.current_dir(checkout::root());
    shell.args(["-c", block]).env("PATH", tools::path_with(programs)?);
    let output =
        shell.envs(variables.iter().map(|(name, value)| (name, value))).output().context("cannot run sh")?;
    if !output.status.success() {
        bail!("the block `{name}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
