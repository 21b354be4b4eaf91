//! Stand-ins for base images that this machine has not.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;
use stack::checkout;
use stack::tools;
use stack::trial::Trial;

use super::engine::{docker, remove_images};
use crate::command::output;

/// Label of the stand-ins, and of all images that are built from them.
const LABEL: &str = "label=drover.stand-in";

/// Ids of the stand-ins that were made. Dropped, they are removed.
#[derive(Debug)]
pub struct StandIns(Vec<String>);

impl StandIns {
    /// Makes the missing stand-ins. `arguments` are those of `deploy/docker/stand-ins.sh`.
    pub fn make(trial: &Trial<'_>, arguments: &[&str]) -> Result<Self> {
        let begun = Instant::now();
        let before = list()?;
        let weed = tools::find("weed")?;
        let folders: Vec<_> = weed.parent().into_iter().chain([Path::new("/usr/sbin")]).collect();
        let mut script = Command::new(checkout::root().join("deploy/docker/stand-ins.sh"));
        let result = output(script.args(arguments).env("PATH", tools::path_with(&folders)?));
        let made = Self(list()?.into_iter().filter(|id| !before.contains(id)).collect());
        result?;
        let figure = format!("{} made after {:.0} s", made.0.len(), begun.elapsed().as_secs_f64());
        trial.note(format!("missing base images {}", arguments.concat()).trim_end(), figure, "present");
        Ok(made)
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        remove_images(&self.0);
    }
}

/// Returns the ids of all stand-ins.
fn list() -> Result<Vec<String>> {
    let ids = docker(&["image", "ls", "--quiet", "--filter", LABEL])?;
    Ok(ids.lines().map(str::to_owned).collect())
}
