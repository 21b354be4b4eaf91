//! Where a benchmark happens: the programs, the services with their data, and the measuring of one row in rounds.

use std::cell::{Cell, OnceCell, RefCell};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::report::{Fact, Line, Report, Target};
use super::sample::{Figures, Sample};
use super::{listings_fill, loads_fill};
use crate::cli::BenchArgs;
use crate::databases::Databases;
use crate::service::Service;
use crate::stop::Stop;

/// One run of something.
pub type Run<'a> = Box<dyn FnMut() -> Result<Sample> + 'a>;

/// What something is compared with.
pub struct Limit<'a> {
    /// What it is.
    pub name: &'static str,
    /// Runs it once.
    pub run: Run<'a>,
}

/// Something to measure.
pub struct Row<'a> {
    /// Its name in the table.
    pub name: String,
    /// Whose memory is told.
    pub service: &'a Service,
    /// Runs it once.
    pub run: Run<'a>,
    /// What it is compared with; the target is about the first.
    pub limits: Vec<Limit<'a>>,
    /// What it is to reach.
    pub target: Target,
}

/// Everything that scenarios share.
pub struct Stage<'a> {
    /// Ctrl-C.
    pub stop: &'a Stop,
    /// How often each row and its limits are run, in turn.
    pub rounds: usize,
    /// How long each run is.
    pub seconds: u64,
    /// How many times 100,000 rows there are.
    pub scale: usize,
    /// Where the binaries are.
    pub binaries: PathBuf,
    /// The server for the databases, or none: SQLite.
    pub postgres: Option<Databases>,
    /// What was measured so far.
    pub report: RefCell<Report>,
    livestock: OnceCell<Service>,
    logistics: OnceCell<Service>,
    system: OnceCell<Service>,
    names: Cell<usize>,
    folder: TempDir,
}

impl<'a> Stage<'a> {
    /// With nothing started yet.
    pub fn new(args: &BenchArgs, binaries: PathBuf, stop: &'a Stop) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("drover-bench-").tempdir();
        Ok(Self {
            stop,
            rounds: args.rounds.into(),
            seconds: args.seconds,
            scale: args.scale.into(),
            binaries,
            postgres: args.database.as_deref().map(Databases::new).transpose()?,
            report: RefCell::default(),
            livestock: OnceCell::new(),
            logistics: OnceCell::new(),
            system: OnceCell::new(),
            names: Cell::new(0),
            folder: folder.context("cannot make a temporary folder: set TMPDIR")?,
        })
    }

    /// A path in a folder that goes at the end; each call gives another one.
    pub fn path(&self, name: &str) -> PathBuf {
        self.names.set(self.names.get() + 1);
        self.folder.path().join(format!("{:03}-{name}", self.names.get()))
    }

    /// How many rows a table has.
    pub fn rows(&self) -> usize {
        100_000 * self.scale
    }

    /// One of two figures: for SQLite, for PostgreSQL.
    pub fn either<T>(&self, sqlite: T, postgres: T) -> T {
        if self.postgres.is_some() { postgres } else { sqlite }
    }

    /// A new service with nothing in it.
    pub fn start(&self, name: &'static str) -> Result<Service> {
        self.start_over(name, self.path(name), self.database(name)?)
    }

    /// A service over what there is.
    pub fn start_over(&self, name: &'static str, data: PathBuf, database: Option<String>) -> Result<Service> {
        Service::start(name, &self.binaries.join(name), data, database)
    }

    /// A database of its own on the server, if there is one.
    pub fn database(&self, name: &str) -> Result<Option<String>> {
        self.postgres.as_ref().map(|postgres| postgres.create(name)).transpose()
    }

    /// Livestock with all its listings.
    pub fn livestock(&self) -> Result<&Service> {
        once(&self.livestock, || {
            let service = self.start("livestock")?;
            listings_fill::fill(&service, self.rows(), self.stop)?;
            Ok(service)
        })
    }

    /// Logistics with all its loads.
    pub fn logistics(&self) -> Result<&Service> {
        once(&self.logistics, || {
            let service = self.start("logistics")?;
            loads_fill::fill(&service, self.rows(), self.stop)?;
            Ok(service)
        })
    }

    /// System, empty.
    pub fn system(&self) -> Result<&Service> {
        once(&self.system, || self.start("system"))
    }

    /// Services that have been used so far.
    pub fn used(&self) -> impl Iterator<Item = &Service> {
        [&self.system, &self.logistics, &self.livestock].into_iter().filter_map(OnceCell::get)
    }

    /// Runs a row and its limits in alternating rounds.
    pub fn measure(&self, mut row: Row<'_>) -> Result<()> {
        let (mut own, mut others) = (Vec::new(), vec![Vec::new(); row.limits.len()]);
        for _ in 0..self.rounds {
            self.stop.check()?;
            own.push((row.run)().with_context(|| row.name.clone())?);
            for (limit, samples) in row.limits.iter_mut().zip(&mut others) {
                self.stop.check()?;
                samples.push((limit.run)().with_context(|| format!("{}, {}", row.name, limit.name))?);
            }
        }
        let names = row.limits.iter().map(|limit| limit.name.to_owned());
        let line = Line {
            name: row.name,
            own: Figures::of(&own),
            memory: row.service.memory()?,
            limits: names.zip(others.iter().map(|samples| Figures::of(samples))).collect(),
            target: row.target,
        };
        eprint!("{}", line.markdown());
        self.report.borrow_mut().lines.push(line);
        Ok(())
    }

    /// Notes a single figure.
    pub fn fact(&self, name: String, value: f64, most: Option<f64>, unit: &'static str) {
        self.report.borrow_mut().facts.push(Fact { name, value, most, unit });
    }

    /// Notes something to be said, once.
    pub fn note(&self, note: impl Into<String>) {
        let (note, notes) = (note.into(), &mut self.report.borrow_mut().notes);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Writes these lines to a file for another program.
    pub fn write(&self, name: &str, lines: &[String]) -> Result<PathBuf> {
        let path = self.path(name);
        if lines.is_empty() {
            bail!("nothing to ask");
        }
        fs::write(&path, lines.join("\n") + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

/// What the cell holds, made when it is first asked for.
fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if cell.get().is_none() {
        let _ = cell.set(make()?);
    }
    cell.get().context("just made")
}
