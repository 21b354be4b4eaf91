//! Runs every check, one stage after the other, and stops at the first that fails.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::cli::TestArgs;
use crate::postgres::{Cluster, ENV};
use crate::stop::{Interrupted, Stop};
use crate::{process, tidy, workspace};

/// All stages; with arguments only `cargo test` and the cluster that it needs.
pub fn run(args: &TestArgs, stop: &Stop) -> Result<()> {
    let stages = Stages { begun: Instant::now(), stop };
    if !args.args.is_empty() {
        let cluster = stages.cluster()?;
        let alone = format!("cargo xtask test -- {}", args.args.join(" "));
        return stages.tests(&cluster, &args.args, &alone);
    }
    stages.cargo("format", &["fmt", "--all", "--check"], "cargo fmt --all")?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    stages.cargo("lints", &clippy, &format!("cargo {}", clippy.join(" ")))?;
    // As they are built to be run, without what tests add to their dependencies.
    let alone = ["check", "--package", "system", "--package", "logistics", "--package", "livestock"];
    stages.cargo("services alone", &alone, &format!("cargo {}", alone.join(" ")))?;
    stages.licences()?;
    stages.run("tidy", "cargo xtask tidy", tidy::run)?;
    let cluster = stages.cluster()?;
    let all = ["--workspace", "--no-fail-fast"].map(str::to_owned);
    let tests = stages.tests(&cluster, &all, "cargo xtask test -- --workspace");
    drop(cluster);
    tests?;
    stages.head("everything passed");
    Ok(())
}

struct Stages<'a> {
    begun: Instant,
    stop: &'a Stop,
}

impl Stages<'_> {
    fn head(&self, text: &str) {
        let seconds = self.begun.elapsed().as_secs();
        println!("\n=== {text} ({}:{:02} so far)", seconds / 60, seconds % 60);
    }

    fn run<T>(&self, name: &str, alone: &str, stage: impl FnOnce() -> Result<T>) -> Result<T> {
        self.stop.check()?;
        self.head(name);
        stage().map_err(|error| {
            if error.is::<Interrupted>() {
                return error;
            }
            error.context(format!("stage `{name}` failed; alone it is run with `{alone}`"))
        })
    }

    fn cargo(&self, name: &str, args: &[&str], alone: &str) -> Result<()> {
        self.run(name, alone, || succeed(workspace::cargo().args(args), self.stop))
    }

    fn licences(&self) -> Result<()> {
        let installed = workspace::cargo().args(["deny", "--version"]).output();
        if !installed.is_ok_and(|output| output.status.success()) {
            self.head(
                "licences and sources: skipped, cargo-deny is not installed (cargo install cargo-deny)",
            );
            return Ok(());
        }
        let check = ["deny", "--log-level", "error", "check", "licenses", "bans", "sources"];
        self.cargo("licences and sources", &check, "cargo deny check licenses bans sources")
    }

    fn cluster(&self) -> Result<Cluster> {
        self.run("PostgreSQL cluster", "cargo xtask postgres", || Cluster::start(self.stop))
    }

    fn tests(&self, cluster: &Cluster, args: &[String], alone: &str) -> Result<()> {
        let mut cargo = workspace::cargo();
        cargo.arg("test").args(args).env(ENV, cluster.url());
        self.run("tests", alone, || succeed(&mut cargo, self.stop))
    }
}

fn succeed(command: &mut Command, stop: &Stop) -> Result<()> {
    let status = process::run(command, stop).context("cargo is needed")?;
    if !status.success() {
        bail!("cargo answered with {status}; what it found stands above");
    }
    Ok(())
}
