//! Where schemathesis is: fetched from where Python packages are, into a folder of ours, in the versions that it was
//! tried with. It is a program of the tests and no part of a service.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::pip::{self, Wanted};
use crate::process;
use crate::stop::Stop;
use crate::workspace;

/// Building the tables of Unicode takes its library seconds in every folder that it works in.
const TABLES: &str =
    "from hypothesis.internal import charmap; charmap.charmap(); charmap.intervals_from_codec('utf-8')";

/// The folder of this trial's own files.
pub fn own() -> PathBuf {
    workspace::root().join("crates/xtask/src/fuzz")
}

/// The folder of schemathesis and all that it needs.
pub fn find(stop: &Stop) -> Result<PathBuf> {
    let versions = own().join("requirements.txt").display().to_string();
    let wanted = Wanted {
        what: "schemathesis 4.32.5",
        folder: "schemathesis-4.32.5",
        requirements: &["--requirement", &versions],
        proof: "schemathesis/__init__.py",
        otherwise: "install Python 3.11 or later",
    };
    let tools = workspace::tools()?;
    if let Some(folder) = wanted.find(&tools) {
        return Ok(folder);
    }
    pip::provide(stop)?;
    wanted.install(&tools, stop, |folder| {
        if !process::run(python(folder).args(["-c", TABLES]), stop)?.success() {
            bail!("schemathesis was fetched, but this Python does not run it: install Python 3.11 or later");
        }
        Ok(())
    })
}

/// Python that finds it, and writes nothing beside the code.
pub fn python(folder: &Path) -> Command {
    let mut python = Command::new("python3");
    python
        .env("PYTHONPATH", folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HYPOTHESIS_STORAGE_DIRECTORY", folder.join("hypothesis-data"));
    python
}
