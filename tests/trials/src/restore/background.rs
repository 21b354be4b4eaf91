//! A client that writes while the backup is made. Everything acknowledged before the backup must be restored, and later
//! writes up to some moment, without a gap.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use stack::fixtures::{organised_load, sheep_listing, upload};
use stack::http::Body;
use stack::trial::Trial;

use super::deployment::{Deployment, LIVESTOCK, LOGISTICS, SYSTEM};

const ORG: &str = "org-background";
const MARKER: &str = "GO-";
const WRITE_TIMEOUT: Duration = Duration::from_secs(300);

/// The progress of the client.
#[derive(Default)]
pub struct BackgroundWriter {
    written: AtomicUsize,
    stop: AtomicBool,
}

impl BackgroundWriter {
    /// Writes a file, and a load and a listing with it, until it is stopped.
    pub fn run(&self, deployment: &Deployment<'_>) -> Result<()> {
        let post = |service, path: &str, body| deployment.send(service, "POST", path, Some(ORG), &body);
        while !self.stop.load(Ordering::SeqCst) {
            let marker = format!("{MARKER}{:06}", self.written());
            let file = post(SYSTEM, "/v1/files", Body::Form(upload(&marker, marker.as_bytes())))?;
            let files = json!([{"id": file.json["id"]}]);
            let load = Body::Json(organised_load(ORG, &marker, &files));
            post(LOGISTICS, "/v1/loads/organiser", load)?;
            post(LIVESTOCK, "/v1/listings/sheep", Body::Json(sheep_listing(&marker, &files)))?;
            self.written.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Number of acknowledged loads and of acknowledged listings.
    pub fn written(&self) -> usize {
        self.written.load(Ordering::SeqCst)
    }

    /// Waits until it has written `more` loads and listings.
    pub fn wait(&self, trial: &Trial<'_>, more: usize) -> Result<()> {
        let min = self.written() + more;
        trial.wait_for("background writes", WRITE_TIMEOUT, || {
            ensure!(!self.stop.load(Ordering::SeqCst), "the background writer has failed");
            Ok(self.written() >= min)
        })?;
        Ok(())
    }

    /// Stops the client.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

/// Checks that the first loads and listings are stored, at least `min` of each, without a gap and with their files.
/// Returns the number of each.
pub fn check_stored(deployment: &Deployment<'_>, min: usize) -> Result<[usize; 2]> {
    let loads = check_markers(deployment, LOGISTICS, "/v1/loads?f:organiserId", min)?;
    let listings = check_markers(deployment, LIVESTOCK, "/v1/listings?f:organisationId", min)?;
    for row in &loads {
        let id = row.split(',').next().unwrap_or_default();
        let load = deployment.get(LOGISTICS, &format!("/v1/loads/{id}"), Some(ORG))?.json;
        let file = load["files"][0]["id"].as_str().context("a load has lost its file")?;
        let content = deployment.get(SYSTEM, &format!("/v1/files/{file}"), Some(ORG))?.bytes;
        let is_own = load["reference"].as_str().map(str::as_bytes) == Some(&content[..]);
        ensure!(is_own, "the file of load {id} has other content");
    }
    Ok([loads.len(), listings.len()])
}

/// Exports a search and checks the markers in its rows. Returns the rows.
fn check_markers(
    deployment: &Deployment<'_>,
    service: usize,
    search: &str,
    min: usize,
) -> Result<Vec<String>> {
    let response = deployment.get(service, &format!("{search}={ORG}&format=CSV"), Some(ORG))?;
    let csv = String::from_utf8(response.bytes)?;
    let mut markers: Vec<usize> =
        csv.split(MARKER).skip(1).filter_map(|rest| rest.get(..6)?.parse().ok()).collect();
    markers.sort_unstable();
    let is_complete = markers.len() >= min && markers.iter().copied().eq(0..markers.len());
    ensure!(is_complete, "{search}: {min} or more must be stored without a gap, but {markers:?} are");
    Ok(csv.lines().skip(1).map(str::to_owned).collect())
}
