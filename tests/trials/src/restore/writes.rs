//! A client that writes while the backup is made, and writes after the restore. Everything acknowledged before the
//! backup must be restored, and later writes up to some moment, without a gap. New writes are found, counted and
//! recorded as events, and nothing else changes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use testkit::market::{organised_load, sheep_listing, upload};
use testkit::processes::http::Body;
use testkit::processes::trial::Trial;

use crate::restore::deployment::{Deployment, LIVESTOCK, LOGISTICS, SYSTEM};
use crate::restore::snapshot::OWNER;

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

/// Creates a file, a load and two listings, and closes the listing `closed`.
pub fn check_new_writes(deployment: &Deployment<'_>, closed: &str) -> Result<()> {
    let get = |service, path: &str| deployment.get(service, path, Some(OWNER));
    let create = |service, path: &str, body| {
        let json = deployment.send(service, "POST", path, Some(OWNER), &body)?.json;
        json["id"].as_str().map(str::to_owned).with_context(|| format!("POST {path} returned {json}"))
    };
    let before = totals(deployment)?;
    let content = b"after\n";
    let file = create(SYSTEM, "/v1/files", Body::Form(upload("after", content)))?;
    let files = json!([{"id": file}]);
    let load = Body::Json(organised_load(OWNER, "AFTERWARDS", &files));
    let load = create(LOGISTICS, "/v1/loads/organiser", load)?;
    let found = get(LOGISTICS, "/v1/loads?query=afterward")?.json;
    let is_found = found[0]["id"] == load.as_str() && found.as_array().map(Vec::len) == Some(1);
    ensure!(is_found, "a search for the new load returned {found}");
    let is_same = get(SYSTEM, &format!("/v1/files/{file}"))?.bytes == content;
    ensure!(is_same, "the new file has other content");
    let listing = |tag| create(LIVESTOCK, "/v1/listings/sheep", Body::Json(sheep_listing(tag, &files)));
    listing("AFTER-0")?;
    let newest = listing("AFTER-1")?;
    let close = Body::Json(json!({"status": "cancelled"}));
    deployment.send(LIVESTOCK, "POST", &format!("/v1/listings/{closed}/close"), Some(OWNER), &close)?;
    let after = totals(deployment)?;
    ensure!(after == before.map(|total| total + 1), "totals changed from {before:?} to {after:?}");
    let page = get(LIVESTOCK, &active_listings("count=true"))?.json;
    ensure!(page[0]["id"] == newest.as_str(), "the newest listing is not the first");
    for (id, expected) in [(newest.as_str(), &["active"][..]), (closed, &["active", "cancelled"])] {
        let events = deployment.get(LIVESTOCK, &format!("/v1/listings/{id}/events"), None)?.json;
        let statuses = events.as_array().into_iter().flatten().map(|event| &event["to"]);
        ensure!(statuses.eq(expected), "listing {id} has the events {events}");
    }
    Ok(())
}

fn active_listings(parameters: &str) -> String {
    format!("/v1/listings?f:organisationId={OWNER}&f:status=active-selling&{parameters}")
}

/// Number of loads, of active listings by a search, and of active listings by facets.
fn totals(deployment: &Deployment<'_>) -> Result<[u64; 3]> {
    let total = |service, path: &str| {
        let response = deployment.get(service, path, Some(OWNER))?;
        let total = response.header("x-total-count").parse().ok().or(response.json["total"].as_u64());
        total.with_context(|| format!("GET {path} returned no total"))
    };
    Ok([
        total(LOGISTICS, &format!("/v1/loads?f:organiserId={OWNER}&count=true"))?,
        total(LIVESTOCK, &active_listings("count=true"))?,
        total(LIVESTOCK, &active_listings("docs=false"))?,
    ])
}
