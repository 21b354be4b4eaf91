//! Builds the services in release mode with cargo's own progress on the terminal.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::process;
use crate::stop::Stop;
use crate::workspace::{self, SERVICES};

/// Builds the three binaries and says in which folder they are.
pub fn release(stop: &Stop) -> Result<PathBuf> {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--release"]);
    for service in SERVICES {
        cargo.args(["--package", service]);
    }
    if !process::run(&mut cargo, stop)?.success() {
        bail!("the services could not be built: mend what the compiler says above and run this again");
    }
    Ok(workspace::target_dir()?.join("release"))
}
