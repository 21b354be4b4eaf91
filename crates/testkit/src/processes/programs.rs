//! Builds programs of the workspace; cargo shows its progress.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::processes::checkout;
use crate::processes::interrupt::Interrupt;
use crate::processes::process;

/// A build profile of Cargo.toml.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Builds in a third of the time: for trying and testing.
    Debug,
    /// Optimized: for measuring.
    Release,
}

/// Returns the folder of the debug build's programs, which the tests have built.
pub fn debug() -> Result<PathBuf> {
    folder(Profile::Debug)
}

/// Builds packages and returns the folder of their programs.
pub fn build(names: &[&str], profile: Profile, stop: &Interrupt) -> Result<PathBuf> {
    let mut cargo = checkout::cargo();
    cargo.arg("build");
    if profile == Profile::Release {
        cargo.arg("--release");
    }
    for name in names {
        cargo.args(["--package", name]);
    }
    if !process::run(&mut cargo, stop)?.success() {
        bail!("{} could not be built: see the compiler's messages above", names.join(", "));
    }
    folder(profile)
}

fn folder(profile: Profile) -> Result<PathBuf> {
    let name = match profile {
        Profile::Debug => "debug",
        Profile::Release => "release",
    };
    Ok(checkout::target_dir()?.join(name))
}
