//! Commands of the program `limits`.

use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::benchmark::Baseline;
use crate::environment::BenchEnvironment;
use crate::measurement::Measurement;

/// Returns a command of the program `limits` without arguments.
pub fn command(env: &BenchEnvironment) -> Command {
    Command::new(env.programs.join("limits"))
}

/// Runs a command and returns its output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot run limits")?;
    if !output.status.success() {
        bail!("limits: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns a baseline that runs a command and parses the measurement that it prints.
pub fn baseline(
    env: &BenchEnvironment,
    name: &'static str,
    args: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Baseline<'static> {
    let mut command = command(env);
    command.args(args);
    let run = move || Measurement::parse(&serde_json::from_str(&output(&mut command)?)?);
    Baseline { name, run: Box::new(run) }
}
