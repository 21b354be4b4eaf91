//! The environment of a trial: programs, servers, a temporary folder and a table of results.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;
use tempfile::TempDir;

use crate::processes::checkout::SERVICES;
use crate::processes::databases::Databases;
use crate::processes::environment::Environment;
use crate::processes::interrupt::Interrupt;
use crate::processes::servers::Servers;
use crate::processes::service::{ServiceConfig, ServiceProcess};
use crate::processes::stack::{Stack, StackConfig};
use crate::processes::text_table;

/// Prefix of checks that could not be made.
const NOT_TRIED: &str = "NOT TRIED: ";

/// How a trial is run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Run the short form.
    pub short: bool,
    /// Seed of the random choices.
    pub seed: u64,
}

/// A trial of the services.
#[derive(Debug)]
pub struct Trial<'a> {
    /// Folder of the services' programs.
    pub binaries: &'a Path,
    /// PostgreSQL, Redis and S3 servers that all trials share. A trial that stops a server starts its own.
    pub servers: &'a Servers,
    /// Databases on that PostgreSQL server.
    pub databases: Databases,
    /// Whether this is the short form.
    pub short: bool,
    /// Seed of the random choices.
    pub seed: u64,
    /// Signals to this program.
    pub stop: &'a Interrupt,
    folder: TempDir,
    results: Mutex<Vec<[String; 3]>>,
    given_up: AtomicBool,
}

impl<'a> Trial<'a> {
    /// Prepares a trial of the programs in a folder.
    pub fn new(
        binaries: &'a Path,
        servers: &'a Servers,
        options: Options,
        stop: &'a Interrupt,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("drover-trial-").tempdir();
        Ok(Self {
            binaries,
            servers,
            databases: Databases::new(&servers.postgres_url())?,
            short: options.short,
            seed: options.seed,
            stop,
            folder: folder
                .context("cannot make a temporary folder: set TMPDIR to one that can be written to")?,
            results: Mutex::default(),
            given_up: AtomicBool::new(false),
        })
    }

    /// A path in this trial's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The configuration of a service in a folder of this trial. All services of a trial accept the same tokens.
    pub fn service_config(&self, name: &'static str, folder: &str) -> ServiceConfig {
        ServiceConfig {
            name,
            program: self.binaries.join(name),
            data: self.path(folder),
            keys: self.path("keys"),
            port: 0,
            database: None,
            log_format: "json",
            environment: Vec::new(),
        }
    }

    /// Starts a service in a folder of this trial, over SQLite or a database.
    pub fn service(
        &self,
        name: &'static str,
        folder: &str,
        database: Option<String>,
        environment: Environment,
    ) -> Result<ServiceProcess> {
        ServiceProcess::start(&ServiceConfig { database, environment, ..self.service_config(name, folder) })
    }

    /// The configuration of a stack in a folder of this trial, with a database each if it is to use PostgreSQL.
    pub fn stack_config(&self, folder: &str, postgres: bool) -> Result<StackConfig> {
        let mut config = StackConfig::new(self.binaries, &self.path(folder));
        config.keys = self.path("keys");
        if postgres {
            for (database, name) in config.databases.iter_mut().zip(SERVICES) {
                *database = Some(self.databases.create(name)?);
            }
        }
        Ok(config)
    }

    /// Starts a stack and waits until it is ready.
    pub fn stack(&self, config: &StackConfig) -> Result<Stack> {
        Stack::start(config, || self.check())
    }

    /// Fails after an interrupt, or after another part of the trial has failed.
    pub fn check(&self) -> Result<()> {
        self.stop.check()?;
        ensure!(!self.given_up.load(Ordering::Relaxed), "another part has failed");
        Ok(())
    }

    /// Makes [`check`](Self::check) fail in the other parts of the trial.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Sleeps. [`check`](Self::check) ends the sleep by its error.
    pub fn pause(&self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        loop {
            self.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            sleep(left.min(Duration::from_millis(100)));
        }
    }

    /// Waits until a condition holds, for at most `limit`, and returns the time that it took.
    pub fn wait_for(
        &self,
        condition: &str,
        limit: Duration,
        mut is_met: impl FnMut() -> Result<bool>,
    ) -> Result<Duration> {
        let begun = Instant::now();
        while !is_met()? {
            ensure!(begun.elapsed() < limit, "timeout of {limit:?}: {condition}");
            self.pause(Duration::from_millis(50))?;
        }
        Ok(begun.elapsed())
    }

    /// Extra time in the short form, which runs debug builds on a busy machine.
    pub fn grace(&self) -> Duration {
        Duration::from_secs(if self.short { 4 } else { 0 })
    }

    /// Records a check that cannot be made here, and why.
    pub fn not_tried(&self, check: &str, reason: &str) {
        self.note(check, format!("{NOT_TRIED}{reason}"), "-");
    }

    /// The checks that could not be made, and why.
    pub fn untried(&self) -> Vec<String> {
        let results = self.results.lock();
        let untried =
            results.iter().filter_map(|[check, result, _]| Some((check, result.strip_prefix(NOT_TRIED)?)));
        untried.map(|(check, reason)| format!("{check}: {reason}")).collect()
    }

    /// Records a result and its limit for the table at the end.
    pub fn note(&self, check: impl Into<String>, result: impl Into<String>, limit: impl Into<String>) {
        let row = [check.into(), result.into(), limit.into()];
        eprintln!("  {}: {}", row[0], row[1]);
        self.results.lock().push(row);
    }

    /// Records a result and fails unless it is within its limit.
    pub fn expect(
        &self,
        is_right: bool,
        check: impl Into<String>,
        result: impl Into<String>,
        limit: impl Into<String>,
    ) -> Result<()> {
        let (check, result, limit) = (check.into(), result.into(), limit.into());
        self.note(&check, &result, &limit);
        ensure!(is_right, "{check}: {result}, expected {limit}");
        Ok(())
    }

    /// The table of all results.
    pub fn table(&self) -> String {
        text_table::render(["check", "result", "limit"], &self.results.lock())
    }
}
