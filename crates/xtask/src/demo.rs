//! `demo`: up, walk, down. Its exit code says whether the services keep their contract.

use std::path::Path;

use anyhow::{Context, Result};

use crate::cli::DemoArgs;
use crate::services::Place;
use crate::stop::Stop;
use crate::{up, walk};

/// Starts the services over a fresh folder, walks, stops them; the folder goes unless it was named.
pub fn run(args: &DemoArgs, stop: &Stop) -> Result<()> {
    let fresh = tempfile::Builder::new().prefix("drover-demo-").tempdir();
    let fresh = fresh.context("cannot make a temporary folder: set TMPDIR or name a folder with --data")?;
    let data = up::data_folder(args.data.as_deref().unwrap_or(fresh.path()))?;
    let place = args.keep.place(data, args.port);
    let result = walk_through(&place, None, stop);
    if result.is_err() && args.data.is_none() && place.data.join("log").exists() {
        eprintln!(
            "the data folder was a temporary one and is gone: add --data DIR to keep logs and databases"
        );
    }
    result
}

/// The walk, with programs that are built or are there.
pub fn walk_through(place: &Place, binaries: Option<&Path>, stop: &Stop) -> Result<()> {
    let (mut fleet, keys) = up::launch(place, binaries, stop)?;
    // A service that died explains more than the call that it did not answer.
    let walked = walk::run(place, &keys, stop).or_else(|error| fleet.check().and(Err(error)));
    up::finish(fleet, walked, stop)?;
    println!("every step answered as the contract says");
    Ok(())
}
