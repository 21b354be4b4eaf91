//! Options of a run.

use std::path::PathBuf;

use clap::value_parser;

/// Rows of each data set at scale 1.
const ROWS: usize = 100_000;
/// Rows of each data set in the short form.
const SHORT_ROWS: usize = 5_000;

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
    pub database: Option<String>,
    /// Size of the data: N times 100,000 listings and as many loads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u8).range(1..=10))]
    scale: u8,
    /// Folder of the programs of the services and of `limits` [default: release builds, made first]
    #[arg(long, value_name = "DIR")]
    pub programs: Option<PathBuf>,
}

impl Options {
    /// Rounds of each benchmark.
    pub fn rounds(&self) -> usize {
        if self.short { 1 } else { self.rounds.into() }
    }

    /// Duration of each run in seconds.
    pub fn seconds(&self) -> u64 {
        if self.short { 1 } else { self.seconds }
    }

    /// Rows of each data set.
    pub fn rows(&self) -> usize {
        if self.short { SHORT_ROWS } else { ROWS * usize::from(self.scale) }
    }
}
