//! Small commands: programs of `tests/` (the trials, the bench, the rules of `tests/structure`), and tokens for the
//! services that `up` started.

use anyhow::{Result, ensure};
use testkit::processes::interrupt::Interrupt;
use testkit::processes::tokens::{DevKeys, Identity, PEM_FILE};
use testkit::processes::{checkout, process};

use crate::cli::{TokenArgs, ToolArgs};

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

/// Prints a token on standard output and nothing else.
pub fn token(args: &TokenArgs) -> Result<()> {
    let keys = DevKeys::load_or_create(&args.data)?;
    if keys.created {
        let path = args.data.join(PEM_FILE);
        eprintln!("made development keys: {} (a service reads new keys when it starts)", path.display());
    }
    let who = Identity {
        user: &args.user,
        name: args.name.as_deref(),
        org: args.org.as_deref(),
        org_name: args.org_name.as_deref(),
        roles: &args.roles,
    };
    println!("{}", who.token(&keys, args.ttl));
    Ok(())
}
