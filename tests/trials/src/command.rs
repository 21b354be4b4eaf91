//! Runs a program and returns its output.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Runs a command to its end and returns its standard output. The error of a failure contains all output.
pub fn output(command: &mut Command) -> Result<String> {
    Ok(run(command)?.0)
}

/// Does what [`output`] does and fails if anything is on standard error, where tools print warnings.
pub fn output_without_warnings(command: &mut Command) -> Result<String> {
    let (stdout, stderr) = run(command)?;
    if !stderr.trim().is_empty() {
        bail!("{} warns:\n{stderr}", command.get_program().display());
    }
    Ok(stdout)
}

fn run(command: &mut Command) -> Result<(String, String)> {
    let name = command.get_program().display().to_string();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    if !output.status.success() {
        bail!("{name} failed ({}):\n{stderr}{stdout}", output.status);
    }
    Ok((stdout, stderr))
}
