//! What all scenarios share: options, programs, services with their data, and the report.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{self, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::value_parser;
use tempfile::TempDir;

use crate::datasets;
use crate::measurement::{Measurement, Run, Summary};
use crate::plot::count;
use crate::report::{Bound, CPU, Report, Row, Target};
use crate::wrk::Requests;
use testkit::processes::databases::Databases;
use testkit::processes::interrupt::Interrupt;
use testkit::processes::programs::Profile;
use testkit::processes::service::{ServiceConfig, ServiceProcess};
use testkit::processes::{checkout, process_stats, programs};

/// Connections of a row that does not state another number.
pub const CLIENTS: usize = 4;
/// Rows of each data set at scale 1, and in the short form.
const ROWS: usize = 100_000;
const SHORT_ROWS: usize = 5_000;
/// Longer than the 10 seconds after which services look for work in the background again.
const SETTLE_INTERVAL: Duration = Duration::from_secs(12);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(600);
/// The most processor time of an idle service in an interval, in microseconds.
const SETTLED_US: f64 = 200_000.0;

/// Options of a run.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// One round of one second with 5,000 rows: checks the scenarios, not the speed
    #[arg(long)]
    pub short: bool,
    /// Rounds: the report has the medians
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u8).range(1..))]
    rounds: u8,
    /// Duration of each run in seconds
    #[arg(long, value_name = "S", default_value_t = 2, value_parser = value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// PostgreSQL server, for example postgres://user:password@host/name. Databases are created there and dropped
    /// [default: SQLite files]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Size of the data: N times 100,000 listings and as many loads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u8).range(1..=10))]
    scale: u8,
    /// Folder of the programs of the services and of `limits` [default: release builds, made first]
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

/// The environment of all scenarios.
pub struct BenchEnvironment<'a> {
    /// Interrupts of this program.
    pub stop: &'a Interrupt,
    /// Rounds of each row of the report.
    pub rounds: usize,
    /// Duration of each run in seconds.
    pub seconds: u64,
    /// Rows of each data set.
    pub rows: usize,
    /// Absolute path of the folder of the programs.
    pub programs: PathBuf,
    /// Results so far.
    pub report: RefCell<Report>,
    services: [OnceCell<ServiceProcess>; 3],
    /// The PostgreSQL server, or none for SQLite. Its databases are dropped after the services above have stopped.
    pub postgres: Option<Databases>,
    postgres_pid: Option<u32>,
    /// Highest proportional set size of each service, in MiB.
    pub peak_pss: RefCell<BTreeMap<&'static str, f64>>,
    path_count: Cell<usize>,
    folder: TempDir,
}

impl<'a> BenchEnvironment<'a> {
    /// Creates an environment without services. Builds the programs if the options name no folder of programs.
    pub fn new(options: &Options, stop: &'a Interrupt) -> Result<Self> {
        let programs = if let Some(folder) = &options.programs {
            path::absolute(folder)?
        } else {
            let names = [checkout::SERVICES.as_slice(), &["limits"]].concat();
            programs::build(&names, Profile::Release, stop)?
        };
        let folder = tempfile::Builder::new().prefix("drover-bench-").tempdir();
        let postgres = options.database.as_deref().map(Databases::new).transpose()?;
        let short = options.short;
        Ok(Self {
            stop,
            rounds: if short { 1 } else { options.rounds.into() },
            seconds: if short { 1 } else { options.seconds },
            rows: if short { SHORT_ROWS } else { ROWS * usize::from(options.scale) },
            programs,
            report: RefCell::default(),
            services: Default::default(),
            postgres_pid: postgres.as_ref().and_then(Databases::server_pid),
            postgres,
            peak_pss: RefCell::default(),
            path_count: Cell::new(0),
            folder: folder.context("cannot create a temporary folder: set TMPDIR")?,
        })
    }

    /// Returns a new path in the temporary folder.
    pub fn temp_path(&self, name: &str) -> PathBuf {
        self.path_count.set(self.path_count.get() + 1);
        self.folder.path().join(format!("{:03}-{name}", self.path_count.get()))
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

    /// Returns a service with all rows of this run; system has none.
    pub fn service(&self, name: &'static str) -> Result<&ServiceProcess> {
        let number = checkout::SERVICES.iter().position(|other| *other == name).context("no such service")?;
        let cell = &self.services[number];
        if cell.get().is_none() {
            let service = self.start(name, self.temp_path(name), self.create_database(name)?)?;
            datasets::create(&service, self.rows, self.stop)?;
            self.settle(&service)?;
            let _ = cell.set(service);
        }
        cell.get().context("the service is missing")
    }

    /// Waits until a service has done what follows from its data in the background: texts to index, address books.
    fn settle(&self, service: &ServiceProcess) -> Result<()> {
        let (begun, mut before) = (Instant::now(), f64::NEG_INFINITY);
        loop {
            let cpu = process_stats::cpu_us(service.pid())?;
            if cpu - before < SETTLED_US || begun.elapsed() > SETTLE_TIMEOUT {
                eprintln!("{:>9} s until {} was idle", begun.elapsed().as_secs(), service.name);
                return Ok(());
            }
            self.stop.check()?;
            before = cpu;
            sleep(SETTLE_INTERVAL);
        }
    }

    /// Stops the services that scenarios have used, and returns their names and SQLite files.
    pub fn stop_services(&mut self) -> Vec<(&'static str, PathBuf)> {
        let used = self.services.iter_mut().filter_map(OnceCell::take);
        used.map(|service| (service.name, service.config().sqlite())).collect()
    }

    /// Sends requests to a service for the duration of a run.
    pub fn load(&self, service: &ServiceProcess, requests: &Requests, clients: usize) -> Result<Measurement> {
        self.with_cpu(Some(service), || requests.send(&service.url(""), clients, self.seconds))
    }

    /// Runs `work` and adds the CPU time that a service and the database server, if their processes are known, spend
    /// meanwhile.
    pub fn with_cpu(
        &self,
        service: Option<&ServiceProcess>,
        work: impl FnOnce() -> Result<Measurement>,
    ) -> Result<Measurement> {
        let cpu = || -> Result<f64> {
            let service = service.map(|service| process_stats::cpu_us(service.pid())).transpose()?;
            let server = self.postgres_pid.map(process_stats::family_cpu_us).transpose()?;
            Ok(service.unwrap_or_default() + server.unwrap_or_default())
        };
        let before = cpu()?;
        let measurement = work()?;
        let is_known = service.is_some() || self.postgres_pid.is_some();
        Ok(Measurement { cpu: is_known.then_some(cpu()? - before), ..measurement })
    }

    /// Measures a service and then each limit, in each round. Adds the medians to the report and returns them.
    pub fn measure(
        &self,
        name: &str,
        service: &ServiceProcess,
        mut run: Run,
        mut limits: Vec<(&'static str, Run)>,
        targets: &[Target],
    ) -> Result<Row> {
        let (mut rounds, mut limit_rounds) = (Vec::new(), vec![Vec::new(); limits.len()]);
        for _ in 0..self.rounds {
            self.stop.check()?;
            rounds.push(run().with_context(|| name.to_owned())?);
            let (pss, mut peaks) = (service.pss()?, self.peak_pss.borrow_mut());
            peaks.entry(service.name).and_modify(|peak| *peak = peak.max(pss)).or_insert(pss);
            for ((limit, run), rounds) in limits.iter_mut().zip(&mut limit_rounds) {
                self.stop.check()?;
                rounds.push(run().with_context(|| format!("{name}, {limit}"))?);
            }
        }
        let medians = limit_rounds.iter().map(|rounds| Summary::new(rounds));
        let row = Row {
            label: self.label(name),
            summary: Summary::new(&rounds),
            pss: service.pss()?,
            limits: limits.iter().map(|limit| limit.0).zip(medians).collect(),
            // CPU time has targets on SQLite only.
            targets: targets.iter().filter(|one| self.postgres.is_none() || one.0 != CPU).copied().collect(),
        };
        eprint!("{}", row.markdown());
        self.report.borrow_mut().add_row(&row);
        Ok(row)
    }

    /// Returns the label of a row: its name, the database and the number of rows.
    #[expect(clippy::cast_precision_loss, reason = "at most a million")]
    fn label(&self, name: &str) -> String {
        let prefix = if self.postgres.is_some() { "PostgreSQL: " } else { "" };
        let size = if self.rows == ROWS { "" } else { &format!(", {} rows", count(self.rows as f64)) };
        format!("{prefix}{name}{size}")
    }

    /// Adds a single figure to the report.
    pub fn add_value(&self, name: &str, value: f64, unit: &str, target: Option<Bound>) {
        self.report.borrow_mut().add_value(&self.label(name), value, unit, target);
    }

    /// Adds a note to the report.
    pub fn add_note(&self, note: &str) {
        self.report.borrow_mut().notes.extend([note, "\n\n"]);
    }

    /// Adds a point to a series of a plot. PostgreSQL has series of its own.
    #[expect(clippy::cast_precision_loss, reason = "numbers of rows and clients")]
    pub fn add_point(&self, plot: &str, series: &str, x: usize, y: Option<f64>) {
        let prefix = if self.postgres.is_some() { "PostgreSQL: " } else { "" };
        if let Some(y) = y {
            self.report.borrow_mut().figures.add_point(plot, &format!("{prefix}{series}"), (x as f64, y));
        }
    }
}
