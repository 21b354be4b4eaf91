//! Runs the programs of `tests/`: the trials, the bench and the rules of `tests/structure`.

use anyhow::{Result, ensure};
use stack::checkout;
use stack::interrupt::Interrupt;
use stack::process;

use crate::cli::ToolArgs;

/// Runs the tests of `tests/structure`, the rules of this repository that no other tool checks.
pub fn tidy(stop: &Interrupt) -> Result<()> {
    let mut cargo = checkout::cargo();
    cargo.args(["test", "--quiet", "--locked", "--package", "structure"]);
    let status = process::run(&mut cargo, stop)?;
    ensure!(status.success(), "the repository breaks rules of tests/structure; they are listed above");
    Ok(())
}

/// Builds a program of tests/ and runs it with its own arguments.
pub fn run(package: &str, args: &ToolArgs, stop: &Interrupt) -> Result<()> {
    let mut cargo = checkout::cargo();
    cargo.args(["run", "--quiet", "--locked", "--package", package, "--"]).args(&args.args);
    let status = process::run(&mut cargo, stop)?;
    ensure!(status.success(), "{package} failed ({status}); its messages are above");
    Ok(())
}
