//! What the trials (`fuzz`, `crash` and those after them) have in common: programs, servers, a folder, and a table of
//! what was found.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::cli::TrialArgs;
use crate::databases::Databases;
use crate::keys::{JWKS_FILE, PEM_FILE};
use crate::servers::Servers;
use crate::service::{Environment, Service};
use crate::stop::Stop;
use crate::{build_release, table};

/// What was not tried begins so.
const NOT_TRIED: &str = "NOT TRIED: ";

/// A trial of the services.
#[derive(Debug)]
pub struct Trial<'a> {
    /// The folder of the services' programs.
    pub binaries: &'a Path,
    /// PostgreSQL, Redis and S3, for those that stop nothing.
    pub servers: &'a Servers,
    /// Databases on that PostgreSQL server.
    pub databases: Databases,
    /// So small that every run of the tests has time for it.
    pub short: bool,
    /// What all that is drawn begins with; the same seed does the same again.
    pub seed: u64,
    /// Whether the user has had enough.
    pub stop: &'a Stop,
    folder: TempDir,
    found: Mutex<Vec<[String; 3]>>,
    given_up: AtomicBool,
}

impl<'a> Trial<'a> {
    /// A trial of the programs in a folder.
    pub fn new(binaries: &'a Path, servers: &'a Servers, args: &TrialArgs, stop: &'a Stop) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("drover-trial-").tempdir();
        Ok(Self {
            binaries,
            servers,
            databases: Databases::new(&servers.postgres_url())?,
            short: args.short,
            seed: args.seed,
            stop,
            folder: folder
                .context("cannot make a temporary folder: set TMPDIR to one that can be written to")?,
            found: Mutex::default(),
            given_up: AtomicBool::new(false),
        })
    }

    /// A path in this trial's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A new service in a folder of this name, over SQLite or a database given.
    pub fn service(
        &self,
        name: &'static str,
        folder: &str,
        database: Option<String>,
        environment: Environment,
    ) -> Result<Service> {
        Service::start_with(name, &self.binaries.join(name), self.path(folder), database, environment)
    }

    /// A service in one folder will take the tokens that one in another does.
    pub fn share_keys(&self, from: &str, to: &str) -> Result<()> {
        for name in [PEM_FILE, JWKS_FILE] {
            let to = self.path(to).join(name);
            fs::create_dir_all(to.parent().context("a key is in no folder")?)?;
            fs::copy(self.path(from).join(name), &to).with_context(|| format!("cannot copy {name}"))?;
        }
        Ok(())
    }

    /// Fails if the user has had enough, or another part of the trial has failed.
    pub fn check(&self) -> Result<()> {
        self.stop.check()?;
        ensure!(!self.given_up.load(Ordering::Relaxed), "another part has failed");
        Ok(())
    }

    /// Ends the other parts soon: one has failed.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Sleeps so long, as long as there is nothing to end it.
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

    /// Waits until something is so, at most so long. Gives how long it took.
    pub fn wait_for(
        &self,
        what: &str,
        limit: Duration,
        mut is_so: impl FnMut() -> Result<bool>,
    ) -> Result<Duration> {
        let begun = Instant::now();
        while !is_so()? {
            ensure!(begun.elapsed() < limit, "waited {limit:?} in vain: {what}");
            self.pause(Duration::from_millis(50))?;
        }
        Ok(begun.elapsed())
    }

    /// So much longer than is allowed something may take in the short form, which runs what is built for debugging on
    /// a machine that does much else.
    pub fn grace(&self) -> Duration {
        Duration::from_secs(if self.short { 4 } else { 0 })
    }

    /// Notes what cannot be tried here, and why.
    pub fn not_tried(&self, what: &str, why: &str) {
        self.note(what, format!("{NOT_TRIED}{why}"), "-");
    }

    /// What was not tried, and why.
    pub fn untried(&self) -> Vec<String> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let untried =
            found.iter().filter_map(|[what, figure, _]| Some((what, figure.strip_prefix(NOT_TRIED)?)));
        untried.map(|(what, why)| format!("{what}: {why}")).collect()
    }

    /// Notes what was done, what came of it, and what was allowed. It is printed at the end.
    pub fn note(&self, what: impl Into<String>, figure: impl Into<String>, allowed: impl Into<String>) {
        let row = [what.into(), figure.into(), allowed.into()];
        eprintln!("  {}: {}", row[0], row[1]);
        self.found.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    }

    /// Notes it too, and fails if it is not as it should be.
    pub fn expect(
        &self,
        right: bool,
        what: impl Into<String>,
        figure: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Result<()> {
        let (what, figure, allowed) = (what.into(), figure.into(), allowed.into());
        self.note(&what, &figure, &allowed);
        if !right {
            bail!("{what}: {figure}, but it has to be {allowed}");
        }
        Ok(())
    }

    /// The table of all that was noted.
    pub fn table(&self) -> String {
        table::render(
            ["what", "figure", "allowed"],
            &self.found.lock().unwrap_or_else(PoisonError::into_inner),
        )
    }
}

/// Runs one trial by itself, against a release build and servers of its own.
pub fn run(args: &TrialArgs, stop: &Stop, trial: impl FnOnce(&Trial<'_>) -> Result<()>) -> Result<()> {
    let binaries = build_release::release(stop)?;
    let servers = Servers::start(stop)?;
    let stage = Trial::new(&binaries, &servers, args, stop)?;
    let result = trial(&stage);
    println!("{}", stage.table());
    result?;
    for untried in stage.untried() {
        println!("{NOT_TRIED}{untried}");
    }
    Ok(())
}
