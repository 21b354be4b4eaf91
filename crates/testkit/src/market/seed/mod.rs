//! Fills the services with a sample market over HTTP: 200 listings and 300 loads, the same in every run.
//!
//! Each listing has a tag and each load a reference that no other has. Those that exist are not created again: a second
//! run creates nothing, and a run after an interrupted one does the rest.

mod listings;
mod loads;
mod lots;
mod market;
mod people;
mod photo;

use std::thread;
use std::time::Instant;

use anyhow::{Result, bail};

use self::market::Market;
use crate::processes::interrupt::Interrupt;
use crate::processes::service::ServiceConfig;
use crate::processes::tokens::DevKeys;

/// Numbers of listings and loads that a run has created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Created {
    /// Listings.
    pub listings: usize,
    /// Loads.
    pub loads: usize,
}

/// Creates what is missing of the sample market.
pub fn run(services: &[ServiceConfig], keys: &DevKeys, interrupt: &Interrupt) -> Result<Created> {
    println!("sample market: {} listings and {} loads", listings::COUNT, loads::COUNT);
    let begun = Instant::now();
    let market = Market::new(services, keys, interrupt);
    let farms = market.farm_locations()?;
    let (listings, loads) = thread::scope(|scope| {
        let listings = scope.spawn(|| listings::create(&market, &farms));
        let loads = loads::create(&market, &farms);
        (listings.join().unwrap_or_else(|_| bail!("the thread of the listings panicked")), loads)
    });
    let created = Created { listings: listings?, loads: loads? };
    if created == Created::default() {
        println!("sample market: exists already");
    } else {
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "sample market: created {} listings and {} loads in {seconds:.1} s",
            created.listings, created.loads
        );
    }
    Ok(created)
}
