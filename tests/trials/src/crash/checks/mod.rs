//! The checks after each round: compare everything that is stored with everything that was sent, and settle what is
//! unknown.

pub mod files;
pub mod listings;
pub mod loads;
mod notifications;
pub mod shares;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;

use self::files::StoredFiles;
use self::listings::{StoredListings, check_wishlist};
use self::loads::StoredLoads;
use crate::crash::client::Client;
use crate::crash::findings::Findings;
use crate::crash::records::Records;
use crate::crash::services::Services;

/// What the checks counted.
#[derive(Debug)]
pub struct Checked {
    /// Findings of the checks of SQLite.
    pub damage: Vec<String>,
    /// Number of contents without a record.
    pub orphans: usize,
    /// Time until all files were shared.
    pub share_time: Duration,
}

/// Compares all data with the records of all rounds, and settles the unknown outcomes of the last. `verified` names the
/// contents whose hash was verified before.
pub fn check(
    services: &Services<'_>,
    rounds: &mut [Records],
    verified: &mut BTreeSet<String>,
    findings: &mut Findings,
) -> Result<Checked> {
    let (trial, client) = (services.trial, &Client::new(services.trial, &services.endpoints));
    let (ledger, last) = (&mut findings.ledger, rounds.len() - 1);
    trial.check()?;
    let damage = services.damage()?;
    let stored_files = StoredFiles::read(services, verified, ledger)?;
    stored_files.compare(rounds, ledger);
    files::check_reads(client, &rounds[last..], ledger)?;
    trial.check()?;
    let loads = StoredLoads::read(client)?;
    loads.compare(rounds, ledger);
    loads.check_reads(client, &rounds[last], ledger)?;
    notifications::check_reads(client, &rounds[last], &loads, ledger)?;
    trial.check()?;
    let listings = StoredListings::read(client)?;
    listings.compare(rounds, ledger);
    check_wishlist(client, rounds, ledger)?;
    listings.check_reads(client, &rounds[last], ledger)?;
    let shares = shares::check(trial, client, &rounds[last..], (&loads, &listings), ledger)?;
    let records = &mut rounds[last];
    trial.check()?;
    stored_files.settle(client, records, findings)?;
    trial.check()?;
    loads.settle(client, records, findings)?;
    notifications::settle(client, records, findings)?;
    trial.check()?;
    listings.settle(client, records, findings)?;
    Ok(Checked { damage, orphans: stored_files.orphans, share_time: shares.duration })
}
