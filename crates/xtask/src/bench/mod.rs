//! `bench`: what the services take, measured on this machine against what a constant answer takes in the same run.

mod geo;
mod listings;
mod listings_data;
mod loads;
mod loads_data;
mod measure;
mod questions;
mod random;

use anyhow::Result;

use crate::cli::{BenchArgs, Benchmark};
use crate::stop::Stop;

/// Runs one benchmark and prints its table.
pub fn run(args: &BenchArgs, stop: &Stop) -> Result<()> {
    match args.benchmark {
        Benchmark::Geo => geo::run(args.requests, stop),
        Benchmark::Loads => loads::run(args, stop),
        Benchmark::Listings => listings::run(args, stop),
    }
}
