//! Files of loads and listings: the partner may download exactly those that the stored loads and listings share.
//!
//! A load shares its files with its parties, and a listing shares them with everyone unless it is a draft. Both happen
//! after the commit, and soon after a restart if a kill prevented it. A refused request shares nothing.

use std::time::Duration;

use anyhow::{Result, bail};
use testkit::processes::http::Body;
use testkit::processes::trial::Trial;

use super::listings::StoredListings;
use super::loads::StoredLoads;
use crate::crash::client::{Caller, Client, Request, SYSTEM};
use crate::crash::records::Records;
use crate::ledger::Ledger;

/// Longest time from a restart until all files are shared.
pub const SHARE_TIMEOUT: Duration = Duration::from_secs(30);

/// Number of checked files, and the duration of the check.
#[derive(Debug, Default)]
pub struct ShareCounts {
    /// Files that the partner may download.
    pub shared: usize,
    /// Files that it may not download.
    pub private: usize,
    /// Time until all shared files could be downloaded.
    pub duration: Duration,
}

/// Downloads the files of some rounds as the partner, and waits for those that are shared.
///
/// # Errors
/// Names the files that are not shared within [`SHARE_TIMEOUT`].
pub fn check(
    trial: &Trial<'_>,
    client: &Client<'_>,
    rounds: &[Records],
    (loads, listings): (&StoredLoads, &StoredListings),
    ledger: &mut Ledger,
) -> Result<ShareCounts> {
    let (mut shared, mut private) = (Vec::new(), Vec::new());
    for load in rounds.iter().flat_map(|records| &records.loads) {
        let reference = load.fixture.reference.as_str();
        for file in load.all_files() {
            let is_shared = loads.get(reference).is_some_and(|load| load.shares_with_partner(file));
            if is_shared { &mut shared } else { &mut private }.push((file.as_str(), reference));
        }
    }
    for listing in rounds.iter().flat_map(|records| &records.listings) {
        let is_shared = listings.status(listing).is_some_and(|status| status != "draft");
        let files = if is_shared { &mut shared } else { &mut private };
        files.extend(listing.fixture.file.as_deref().map(|file| (file, listing.fixture.marker.as_str())));
    }
    let (mut counts, mut waiting) =
        (ShareCounts { shared: shared.len(), private: private.len(), ..Default::default() }, shared);
    let waited = trial.wait_for("files are shared", SHARE_TIMEOUT, || {
        let mut left = Vec::new();
        for (file, object) in waiting.drain(..) {
            if !is_readable(client, file)? {
                left.push((file, object));
            }
        }
        waiting = left;
        Ok(waiting.is_empty())
    });
    for (file, object) in &waiting {
        ledger.lost(&format!("file {file} of {object} is not shared"));
    }
    counts.duration = waited?;
    for (file, object) in &private {
        if is_readable(client, file)? {
            ledger
                .duplicated(&format!("file {file} of {object} is shared although nothing stored shares it"));
        }
    }
    Ok(counts)
}

/// Whether the partner may download a file.
fn is_readable(client: &Client<'_>, file: &str) -> Result<bool> {
    let request = Request {
        service: SYSTEM,
        method: "GET",
        path: format!("/v1/files/{file}"),
        caller: Caller::Partner,
        key: None,
        body: Body::Empty,
    };
    match client.send(&request)?.status {
        200 => Ok(true),
        403 => Ok(false),
        status => bail!("GET {} returned {status}", request.path),
    }
}
