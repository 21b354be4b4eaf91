//! The files that have a tool of their own: the Dockerfile, scripts.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::tools::{Tools, output};
use crate::trial::Trial;
use crate::workspace;

const DOCKERFILE: &str = "deploy/Dockerfile";

/// Fails with what the tools say.
pub fn check(trial: &Trial<'_>, tools: &Tools) -> Result<()> {
    output(tools.program("hadolint").args(["--no-color", DOCKERFILE]))?;
    user()?;
    let mut scripts = Vec::new();
    for folder in ["deploy", "deploy/postgres"] {
        let folder = workspace::root().join(folder);
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        scripts.extend(paths.filter(|path| path.extension().is_some_and(|extension| extension == "sh")));
    }
    ensure!(scripts.len() >= 4, "deploy/ has lost its scripts");
    output(tools.program("shellcheck").args(["--color=never"]).args(&scripts))?;
    let files = format!("{DOCKERFILE}, {} scripts", scripts.len());
    trial.note(files, "nothing to be found", "hadolint, shellcheck");
    Ok(())
}

/// Images run as a number that is not root's: Kubernetes cannot tell of a name.
fn user() -> Result<()> {
    let path = workspace::root().join(DOCKERFILE);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut users = text.lines().filter_map(|line| line.strip_prefix("USER "));
    let last = users.next_back().and_then(|user| user.split(':').next()?.parse::<u32>().ok());
    ensure!(last.is_some_and(|user| user > 0), "{DOCKERFILE}: USER has to be a number, and not 0");
    Ok(())
}
