//! Runs every check, one stage after the other, and stops at the first that fails.

use std::process::ExitStatus;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::cli::{TestArgs, TrialArgs};
use crate::servers::Servers;
use crate::stop::{Interrupted, Stop};
use crate::trial::Trial;
use crate::{abuse, crash, faults, fuzz, process, tidy, workspace};

type Run = fn(&Trial<'_>) -> Result<()>;

const TRIALS: [(&str, Run); 4] =
    [("fuzz", fuzz::run), ("crash", crash::run), ("faults", faults::run), ("abuse", abuse::run)];

/// All stages; with arguments only `cargo test` and the servers that it needs.
pub fn run(args: &TestArgs, stop: &Stop) -> Result<()> {
    let stages = Stages { begun: Instant::now(), stop };
    if !args.args.is_empty() {
        let alone = format!("cargo xtask test -- {}", args.args.join(" "));
        return stages.tests(&args.args, &alone).map(drop);
    }
    stages.cargo("format", &["fmt", "--all", "--check"], "cargo fmt --all")?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    stages.cargo("lints", &clippy, &format!("cargo {}", clippy.join(" ")))?;
    // As they are built to be run, without what tests add to their dependencies.
    let alone = ["check", "--package", "system", "--package", "logistics", "--package", "livestock"];
    stages.cargo("services alone", &alone, &format!("cargo {}", alone.join(" ")))?;
    stages.licences()?;
    stages.run("tidy", "cargo xtask tidy", tidy::run)?;
    let all = ["--workspace", "--no-fail-fast"].map(str::to_owned);
    let servers = stages.tests(&all, "cargo xtask test -- --workspace")?;
    stages.trials(&servers)?;
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
        self.run(name, alone, || succeed(process::run(workspace::cargo().args(args), self.stop)))
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

    fn tests(&self, args: &[String], alone: &str) -> Result<Servers> {
        let start = || Servers::start(self.stop);
        let mut servers = self.run("PostgreSQL, Redis and S3 servers", "cargo xtask servers", start)?;
        let mut cargo = workspace::cargo();
        cargo.arg("test").args(args).envs(servers.environment());
        self.run("tests", alone, || succeed(process::run_while(&mut cargo, self.stop, || servers.check())))?;
        Ok(servers)
    }

    /// The short forms of all trials, with the programs that the tests have built.
    fn trials(&self, servers: &Servers) -> Result<()> {
        let binaries = workspace::target_dir()?.join("debug");
        let args = TrialArgs { short: true, seed: 1 };
        for (name, trial) in TRIALS {
            self.run(name, &format!("cargo xtask {name} --short"), || {
                let stage = Trial::new(&binaries, servers, &args, self.stop)?;
                let result = trial(&stage);
                println!("{}", stage.table());
                result
            })?;
        }
        Ok(())
    }
}

fn succeed(ended: Result<ExitStatus>) -> Result<()> {
    let status = ended?;
    if !status.success() {
        bail!("cargo answered with {status}; what it found stands above");
    }
    Ok(())
}
