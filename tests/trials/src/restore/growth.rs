//! Writes after the restore: each is found, counted and recorded as an event, and nothing else changes.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use stack::fixtures::{organised_load, sheep_listing, upload};
use stack::http::Body;

use super::deployment::{Deployment, LIVESTOCK, LOGISTICS, SYSTEM};
use super::snapshot::OWNER;

/// Creates a file, a load and two listings, and closes the listing `closed`.
pub fn check(deployment: &Deployment<'_>, closed: &str) -> Result<()> {
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
