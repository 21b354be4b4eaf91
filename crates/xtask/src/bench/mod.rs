//! `bench`: what the services take, each scenario against its limit on this machine in the same run, in alternating
//! rounds. What is to be reached stands beside each. Processor time for a request is the figure to trust on a shared
//! machine.

mod files;
mod limits;
mod listings;
pub mod listings_data;
mod listings_fill;
mod loaded;
mod loads;
mod loads_data;
mod loads_fill;
mod loads_written;
mod places;
mod postgres;
mod report;
mod sample;
mod searches;
mod stage;
mod start;
mod wrk;

use std::fs;

use anyhow::{Context, Result, bail};

use self::stage::Stage;
use crate::cli::BenchArgs;
use crate::servers::{self, on_path};
use crate::stop::{Interrupted, Stop};
use crate::{build_release, nginx};

/// A name, and what measures it.
type Scenario = (&'static str, fn(&Stage) -> Result<()>);

/// In the order that they are run: what writes comes after what reads.
const SCENARIOS: [Scenario; 19] = [
    ("start", start::run),
    ("listings-by-date", listings::by_date),
    ("listings-by-price", listings::by_price),
    ("listings-near", listings::near),
    ("listings-gzip", listings::compressed),
    ("facets", listings::facets),
    ("facets-near", listings::facets_near),
    ("facets-age", listings::facets_age),
    ("facets-wishlist", listings::facets_wishlist),
    ("every-listing-search", listings::every),
    ("loads", loads::search),
    ("loads-csv", loads::csv),
    ("growth", loads::growth),
    ("every-load-search", loads::every),
    ("create-loads", loads_written::create),
    ("import", loads_written::import),
    ("upload", files::upload),
    ("download", files::download),
    ("places", places::run),
];

/// The names of all scenarios.
pub fn names() -> [&'static str; SCENARIOS.len()] {
    SCENARIOS.map(|(name, _)| name)
}

/// Runs the scenarios that are named, or all, and prints the tables.
pub fn run(args: &BenchArgs, stop: &Stop) -> Result<()> {
    let wanted = |name: &str| args.scenarios.is_empty() || args.scenarios.iter().any(|other| other == name);
    provide(wanted("download"), stop)?;
    let binaries = build_release::release(stop)?;
    build_release::packages(&["limits"], stop)?;
    let stage = Stage::new(args, binaries, stop)?;
    let mut failed = Vec::new();
    for (name, scenario) in SCENARIOS.into_iter().filter(|(name, _)| wanted(name)) {
        eprintln!("{name}");
        match scenario(&stage) {
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => {
                eprintln!("{name} failed: {error:#}");
                stage.note(format!("{name} failed: {error:#}"));
                failed.push(name);
            }
            Ok(()) => {}
        }
    }
    start::loaded(&stage)?;
    let markdown = stage.report.borrow().markdown();
    println!("{markdown}");
    if let Some(path) = &args.out {
        fs::write(path, &markdown).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if failed.is_empty() { Ok(()) } else { bail!("these failed, see above: {}", failed.join(", ")) }
}

/// Sees that the load generator is there, and what downloads are compared with, if that can be had.
fn provide(downloads: bool, stop: &Stop) -> Result<()> {
    if on_path("wrk").is_none() {
        servers::install(&[wrk::PACKAGE], stop)?;
    }
    if downloads && let Err(error) = nginx::provide(stop) {
        stop.check()?;
        eprintln!("{error:#}");
    }
    Ok(())
}
