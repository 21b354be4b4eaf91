//! Runs every check, one stage after the other, and stops at the first that fails.

use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::cli::{TestArgs, TrialArgs};
use crate::databases::Databases;
use crate::servers::{S3, Servers};
use crate::services::Place;
use crate::stop::{Interrupted, Stop};
use crate::trial::Trial;
use crate::workspace::SERVICES;
use crate::{
    abuse, crash, dashboards, demo, deny, deploy, expand, faults, fuzz, ports, process, replicas, restore,
    tidy, workspace,
};

type Run = fn(&Trial<'_>) -> Result<()>;

/// How each is run alone, and what it is.
const TRIALS: [(&str, Run); 8] = [
    ("deploy", deploy::run),
    ("fuzz --short", fuzz::run),
    ("crash --short", crash::run),
    ("faults --short", faults::run),
    ("abuse --short", abuse::run),
    ("replicas --short", replicas::run),
    ("restore --short", restore::run),
    ("dashboards", dashboards::run),
];

/// All stages; with arguments only `cargo test` and the servers that it needs.
pub fn run(args: &TestArgs, stop: &Stop) -> Result<()> {
    let stages = Stages { begun: Instant::now(), stop };
    if !args.args.is_empty() {
        let alone = format!("cargo xtask test -- {}", args.args.join(" "));
        return stages.tests(&args.args, &alone).map(drop);
    }
    // A lock file that is not current is told first; the stages after it change it no more.
    let lock = ["metadata", "--locked", "--quiet", "--format-version", "1"];
    stages.run("lock file", "cargo update --workspace", || {
        let output = workspace::cargo().args(lock).stdout(Stdio::null()).status();
        let status = output.context("cannot run cargo: install Rust and put it on PATH")?;
        ensure!(status.success(), "Cargo.lock is not what the manifests ask for: check in what `cargo update --workspace` makes of it");
        Ok(())
    })?;
    stages.cargo("format", &["fmt", "--all", "--check"], "cargo fmt --all")?;
    let clippy = ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    stages.cargo("lints", &clippy, &format!("cargo {}", clippy.join(" ")))?;
    // As they are built to be run, without what tests add to their dependencies.
    let alone =
        ["check", "--locked", "--package", "system", "--package", "logistics", "--package", "livestock"];
    stages.cargo("services alone", &alone, &format!("cargo {}", alone.join(" ")))?;
    stages.licences()?;
    stages.run("tidy", "cargo xtask tidy", tidy::run)?;
    let all = ["--workspace", "--no-fail-fast"].map(str::to_owned);
    // Before minutes of tests, so that whoever has to install something learns it now.
    stages.run("programs of the trials", "cargo xtask fuzz --short", || {
        faults::library(stop)?;
        deploy::provide(stop)?;
        dashboards::Programs::provide(stop)?;
        fuzz::install::find(stop).map(drop)
    })?;
    let servers = stages.tests(&all, "cargo xtask test -- --workspace")?;
    stages.demo(&servers)?;
    let mut untried = stages.trials(&servers)?;
    let release = || expand::run(&servers, stop);
    untried.extend(stages.run("last release on this schema", "cargo xtask expand", release)?);
    stages.head("everything passed");
    for untried in untried {
        println!("but not tried: {untried}");
    }
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
        let check = ["--locked", "--log-level", "error", "check", "licenses", "bans", "sources"];
        self.run("licences and sources", "cargo deny check licenses bans sources", || {
            let mut deny = Command::new(deny::provide(self.stop)?);
            succeed(process::run(deny.args(check).current_dir(workspace::root()), self.stop)).context(
                "what it says stands above. Where it cannot fetch a crate, since it reads those of all systems: run \
                 `cargo fetch --locked` with the registry in reach",
            )
        })
    }

    fn tests(&self, args: &[String], alone: &str) -> Result<Servers> {
        let start = || Servers::start(self.stop);
        let mut servers = self.run("PostgreSQL, Redis and S3 servers", "cargo xtask servers", start)?;
        let mut cargo = workspace::cargo();
        cargo.args(["test", "--locked"]).args(args).envs(servers.environment());
        self.run("tests", alone, || succeed(process::run_while(&mut cargo, self.stop, || servers.check())))?;
        Ok(servers)
    }

    /// The walk over PostgreSQL, Redis and S3, with the programs that the tests have built.
    fn demo(&self, servers: &Servers) -> Result<()> {
        let alone = "cargo xtask demo --database postgres://… --redis redis://… --store s3://…";
        self.run("demo in production's way", alone, || {
            let (databases, folder) = (Databases::new(&servers.postgres_url())?, tempfile::tempdir()?);
            let place = Place {
                data: folder.path().to_owned(),
                port: ports::find_free_row(u16::try_from(SERVICES.len())?)?,
                database: Some(databases.create("demo")?),
                cache: Some(servers.redis_url()),
                store: Some(S3::place("demo")),
                more: servers.s3_variables(),
            };
            demo::walk_through(&place, Some(&workspace::target_dir()?.join("debug")), self.stop)
        })
    }

    /// The short forms of all trials, with the programs that the tests have built. Gives what could not be tried.
    fn trials(&self, servers: &Servers) -> Result<Vec<String>> {
        let mut untried = Vec::new();
        let binaries = workspace::target_dir()?.join("debug");
        let args = TrialArgs { short: true, seed: 1 };
        for (name, trial) in TRIALS {
            let alone = format!("cargo xtask {name}  # builds for release first");
            self.run(name, &alone, || {
                let stage = Trial::new(&binaries, servers, &args, self.stop)?;
                let result = trial(&stage);
                println!("{}", stage.table());
                untried.extend(stage.untried());
                result
            })?;
        }
        Ok(untried)
    }
}

fn succeed(ended: Result<ExitStatus>) -> Result<()> {
    let status = ended?;
    if !status.success() {
        bail!("cargo answered with {status}; what it found stands above");
    }
    Ok(())
}
