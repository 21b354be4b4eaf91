//! Files of loads and listings: is each open for the other organisation as what is stored says, and no other?
//!
//! A load shares its files with its parties, and a listing with everybody once it is no draft. Both follow the commit,
//! and must happen soon after a restart where a kill came between the two. A refused request shares nothing.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::books::Books;
use super::findings::Findings;
use super::line::{Line, OTHER, SYSTEM};
use super::{listings, loads};
use crate::client::Body;
use crate::crash::line::Request;

/// From a restart to the last share that is due.
pub const SHARE_TIMEOUT: Duration = Duration::from_secs(30);

/// The files that were looked at.
#[derive(Debug, Default)]
pub struct ShareCounts {
    pub open: usize,
    pub closed: usize,
    /// From the begin of a look to the last share.
    pub slowest: Duration,
}

/// Downloads the files of some rounds as the other organisation. Waits for those that are to be shared.
pub fn look(
    line: &Line<'_>,
    books: &Books,
    (loads, listings): (&loads::Rows, &listings::Rows),
    rounds: impl Fn(usize) -> bool,
    found: &mut Findings,
) -> Result<ShareCounts> {
    let mut due = Vec::new();
    let mut closed = Vec::new();
    for load in books.loads.iter().filter(|load| rounds(load.round)) {
        let row = loads.get(&load.goods.reference).and_then(|rows| rows.first());
        for file in load.files.iter().chain(load.proof.as_ref().map(|proof| &proof.file)) {
            let is_due = row.is_some_and(|row| row.shares(file));
            if is_due { &mut due } else { &mut closed }.push((file, &load.goods.reference));
        }
    }
    for listing in books.listings.iter().filter(|listing| rounds(listing.round)) {
        let is_due = listings.status(listing).is_some_and(|status| status != "draft");
        let all = if is_due { &mut due } else { &mut closed };
        all.extend(listing.file.as_ref().map(|file| (file, &listing.mark)));
    }
    let (open, begun) = (due.len(), Instant::now());
    loop {
        let mut left = Vec::new();
        for (file, subject) in due {
            if !is_open(line, file)? {
                left.push((file, subject));
            }
        }
        due = left;
        if due.is_empty() || begun.elapsed() > SHARE_TIMEOUT {
            break;
        }
        sleep(Duration::from_millis(100));
    }
    let slowest = begun.elapsed();
    for (file, subject) in due {
        found.lost(&format!("file {file} of {subject} is not shared"));
    }
    for (file, subject) in &closed {
        if is_open(line, file)? {
            found.doubled(&format!("file {file} of {subject} is shared, which nothing stored says"));
        }
    }
    Ok(ShareCounts { open, closed: closed.len(), slowest })
}

/// Whether the other organisation may download it.
fn is_open(line: &Line<'_>, file: &str) -> Result<bool> {
    let path = format!("/v1/files/{file}");
    let request = Request { service: SYSTEM, method: "GET", path, who: OTHER, key: None, body: Body::Empty };
    match line.send(&request)?.status {
        200 => Ok(true),
        403 => Ok(false),
        status => bail!("GET {} answered {status}", request.path),
    }
}
