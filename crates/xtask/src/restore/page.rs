//! The commands of docs/operations.md, read from there: what the page says is what is run.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::servers::path_with;
use crate::workspace;

const PAGE: &str = "docs/operations.md";

/// Runs the page's block of this name (` ```sh NAME `) with these variables, its programs found in these folders first.
pub fn run(name: &str, programs: &[&Path], variables: &[(&str, String)]) -> Result<()> {
    let page =
        fs::read_to_string(workspace::root().join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let block = block(&page, name).with_context(|| format!("{PAGE} has no block `{name}`"))?;
    let mut shell = Command::new("sh");
    shell.current_dir(workspace::root());
    shell.args(["-c", block]).env("PATH", path_with(programs)?);
    let output =
        shell.envs(variables.iter().map(|(name, value)| (name, value))).output().context("there is no sh")?;
    if !output.status.success() {
        bail!("the page's `{name}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

fn block<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let begin = format!("```sh {name}\n");
    page.split_once(&begin)?.1.split_once("\n```").map(|(block, _)| block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_by_its_name() {
        let page = "x\n```sh a\necho 1\necho 2\n```\n```sh b\necho 3\n```\n";
        assert_eq!(block(page, "a"), Some("echo 1\necho 2"));
        assert_eq!((block(page, "b"), block(page, "c")), (Some("echo 3"), None));
    }
}
