//! Commands that run schemathesis.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use stack::interrupt::Interrupt;
use stack::{checkout, process, tools};

/// Builds the Unicode tables of its library. Each run builds them again, in seconds, unless they are stored.
const BUILD_TABLES: &str =
    "from hypothesis.internal import charmap; charmap.charmap(); charmap.intervals_from_codec('utf-8')";

/// Returns the folder of its configuration and hooks.
pub fn folder() -> PathBuf {
    checkout::root().join("tests/trials/src/fuzz")
}

/// Returns a command that runs schemathesis with our configuration and hooks.
pub fn command() -> Result<Command> {
    let mut command = with_stored_tables("schemathesis")?;
    command.arg("--config-file").arg(folder().join("schemathesis.toml"));
    command.env("SCHEMATHESIS_HOOKS", folder().join("rules.py"));
    Ok(command)
}

/// Builds and stores the Unicode tables, unless they are stored already.
pub fn prepare(interrupt: &Interrupt) -> Result<()> {
    let status = process::run(with_stored_tables("python3")?.args(["-c", BUILD_TABLES]), interrupt)?;
    ensure!(status.success(), "hypothesis does not run: delete target/tools/python and run .ci/install");
    Ok(())
}

fn with_stored_tables(program: &str) -> Result<Command> {
    let mut command = Command::new(tools::find(program)?);
    command.env("HYPOTHESIS_STORAGE_DIRECTORY", checkout::target_dir()?.join("tools/hypothesis"));
    command.env("PYTHONDONTWRITEBYTECODE", "1"); // no folder beside rules.py
    Ok(command)
}
