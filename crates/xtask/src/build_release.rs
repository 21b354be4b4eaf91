//! Builds programs in release mode with cargo's own progress on the terminal.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::process;
use crate::stop::Stop;
use crate::workspace::{self, SERVICES};

/// Builds the three services and says in which folder they are.
pub fn release(stop: &Stop) -> Result<PathBuf> {
    packages(&SERVICES, stop)
}

/// Builds packages, together as they share what they depend on, and says in which folder their programs are.
pub fn packages(names: &[&str], stop: &Stop) -> Result<PathBuf> {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--release"]);
    for name in names {
        cargo.args(["--package", name]);
    }
    if !process::run(&mut cargo, stop)?.success() {
        bail!(
            "{} could not be built: mend what the compiler says above and run this again",
            names.join(", ")
        );
    }
    Ok(workspace::target_dir()?.join("release"))
}
