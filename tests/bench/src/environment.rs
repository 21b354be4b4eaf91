//! What all scenarios share: options, programs, services with their data, and the report.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::path::{self, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use testkit::processes::checkout::SERVICES;
use testkit::processes::databases::Databases;
use testkit::processes::interrupt::Interrupt;
use testkit::processes::programs::{self, Profile};
use testkit::processes::service::{ServiceConfig, ServiceProcess};

use crate::datasets;
use crate::options::Options;
use crate::report::{Metric, Report};

/// The environment of all scenarios.
pub struct BenchEnvironment<'a> {
    /// Interrupts of this program.
    pub stop: &'a Interrupt,
    /// Rounds of each benchmark.
    pub rounds: usize,
    /// Duration of each run in seconds.
    pub seconds: u64,
    /// Rows of each data set.
    pub rows: usize,
    /// Absolute path of the folder of the programs.
    pub programs: PathBuf,
    /// Results so far.
    pub report: RefCell<Report>,
    livestock: OnceCell<ServiceProcess>,
    logistics: OnceCell<ServiceProcess>,
    system: OnceCell<ServiceProcess>,
    /// The PostgreSQL server, or none for SQLite. Its databases are dropped after the services above have stopped.
    pub postgres: Option<Databases>,
    /// Process id of the PostgreSQL server, if it runs on this machine.
    pub postgres_pid: Option<u32>,
    /// Copies of the services' databases for floors.
    pub floor_databases: RefCell<BTreeMap<&'static str, PathBuf>>,
    /// Highest proportional set size of each service, in MiB.
    peak_pss: RefCell<BTreeMap<&'static str, f64>>,
    path_count: Cell<usize>,
    folder: TempDir,
}

impl<'a> BenchEnvironment<'a> {
    /// Creates an environment without services. Builds the programs if the options name no folder of programs.
    pub fn new(options: &Options, stop: &'a Interrupt) -> Result<Self> {
        let programs = match &options.programs {
            Some(folder) => path::absolute(folder)?,
            None => programs::build(&[SERVICES.as_slice(), &["limits"]].concat(), Profile::Release, stop)?,
        };
        let folder = tempfile::Builder::new().prefix("drover-bench-").tempdir();
        let postgres = options.database.as_deref().map(Databases::new).transpose()?;
        Ok(Self {
            stop,
            rounds: options.rounds(),
            seconds: options.seconds(),
            rows: options.rows(),
            programs,
            postgres_pid: postgres.as_ref().and_then(Databases::server_pid),
            postgres,
            floor_databases: RefCell::default(),
            peak_pss: RefCell::default(),
            report: RefCell::default(),
            livestock: OnceCell::new(),
            logistics: OnceCell::new(),
            system: OnceCell::new(),
            path_count: Cell::new(0),
            folder: folder.context("cannot create a temporary folder: set TMPDIR")?,
        })
    }

    /// Returns a new path in the temporary folder.
    pub fn temp_path(&self, name: &str) -> PathBuf {
        self.path_count.set(self.path_count.get() + 1);
        self.folder.path().join(format!("{:03}-{name}", self.path_count.get()))
    }

    /// Writes lines to a new temporary file.
    pub fn write_lines(&self, name: &str, lines: &[String]) -> Result<PathBuf> {
        ensure!(!lines.is_empty(), "no {name} to write");
        let path = self.temp_path(name);
        fs::write(&path, lines.join("\n") + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Returns the value for the database of this run.
    pub fn by_database<T>(&self, sqlite: T, postgres: T) -> T {
        if self.postgres.is_some() { postgres } else { sqlite }
    }

    /// Starts a service with an empty database.
    pub fn start_empty(&self, name: &'static str) -> Result<ServiceProcess> {
        self.start(name, self.temp_path(name), self.create_database(name)?)
    }

    /// Starts a service with a data folder and a database URL.
    pub fn start(
        &self,
        name: &'static str,
        data: PathBuf,
        database: Option<String>,
    ) -> Result<ServiceProcess> {
        ServiceProcess::start(&ServiceConfig {
            name,
            program: self.programs.join(name),
            keys: data.clone(),
            data,
            port: 0,
            database,
            log_format: "json",
            environment: Vec::new(),
        })
    }

    /// Creates a database on the PostgreSQL server, if there is one, and returns its URL.
    pub fn create_database(&self, name: &str) -> Result<Option<String>> {
        self.postgres.as_ref().map(|postgres| postgres.create(name)).transpose()
    }

    /// Returns livestock with all listings.
    pub fn livestock(&self) -> Result<&ServiceProcess> {
        get_or_try_init(&self.livestock, || {
            let service = self.start_empty("livestock")?;
            datasets::listings::create(&service, self.rows, self.stop)?;
            Ok(service)
        })
    }

    /// Returns logistics with all loads.
    pub fn logistics(&self) -> Result<&ServiceProcess> {
        get_or_try_init(&self.logistics, || {
            let service = self.start_empty("logistics")?;
            datasets::loads::create(&service, self.rows, self.stop)?;
            Ok(service)
        })
    }

    /// Returns system without files.
    pub fn system(&self) -> Result<&ServiceProcess> {
        get_or_try_init(&self.system, || self.start_empty("system"))
    }

    /// Records the present memory of a service, if it is the highest so far.
    pub fn record_pss(&self, service: &ServiceProcess) -> Result<()> {
        let pss = service.pss()?;
        self.peak_pss
            .borrow_mut()
            .entry(service.name)
            .and_modify(|peak| *peak = peak.max(pss))
            .or_insert(pss);
        Ok(())
    }

    /// Returns the highest proportional set size of each service that scenarios have loaded, in MiB.
    pub fn peak_pss(&self) -> BTreeMap<&'static str, f64> {
        self.peak_pss.borrow().clone()
    }

    /// Stops the services that scenarios have used, and returns their names and SQLite files.
    pub fn stop_services(&mut self) -> Vec<(&'static str, PathBuf)> {
        [&mut self.system, &mut self.logistics, &mut self.livestock]
            .into_iter()
            .filter_map(OnceCell::take)
            .map(|service| (service.name, service.config().sqlite()))
            .collect()
    }

    /// Records a figure that has a target, or is shown beside them. Figures on PostgreSQL have names of their own.
    pub fn record(&self, name: &str, value: Option<f64>) {
        let prefix = self.by_database("", "PostgreSQL: ");
        if let Some(value) = value {
            self.report.borrow_mut().figures.set(&format!("{prefix}{name}"), value);
        }
    }

    /// Adds a point to a series of a plot. PostgreSQL has series of its own.
    #[expect(clippy::cast_precision_loss, reason = "numbers of rows and clients")]
    pub fn add_point(&self, plot: &str, series: &str, x: usize, y: Option<f64>) {
        let prefix = self.by_database("", "PostgreSQL: ");
        if let Some(y) = y {
            self.report.borrow_mut().figures.add_point(plot, &format!("{prefix}{series}"), (x as f64, y));
        }
    }

    /// Adds a single figure to the report.
    pub fn add_metric(&self, name: String, value: f64, max: Option<f64>, unit: &'static str) {
        self.report.borrow_mut().metrics.push(Metric { name, value, max, unit });
    }

    /// Adds a note to the report, unless it is there.
    pub fn add_note(&self, note: String) {
        let notes = &mut self.report.borrow_mut().notes;
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// Formats a number of rows: 10k, 100k, 1M.
pub fn size_label(rows: usize) -> String {
    if rows >= 1_000_000 { format!("{}M", rows / 1_000_000) } else { format!("{}k", rows / 1_000) }
}

fn get_or_try_init<T>(cell: &OnceCell<T>, init: impl FnOnce() -> Result<T>) -> Result<&T> {
    if cell.get().is_none() {
        let _ = cell.set(init()?);
    }
    cell.get().context("the cell is empty after its initialization")
}
