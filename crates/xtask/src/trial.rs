//! What `fuzz`, `crash`, `faults` and `abuse` have in common: programs, servers, a folder, and a table of what was found.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::cli::TrialArgs;
use crate::databases::Databases;
use crate::servers::Servers;
use crate::service::{Environment, Service};
use crate::stop::Stop;
use crate::{build_release, table};

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
    result
}
