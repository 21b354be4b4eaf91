//! Reads after writes of other replicas: pages of a search, facets, and the events of a listing.

use std::collections::BTreeSet;
use std::thread::scope;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use stack::fixtures::{organised_load, sheep_listing};
use stack::http::{Body, Response};
use stack::service::ServiceProcess;

use super::deployment::Deployment;

const PAGED_ORG: &str = "org-paged";
const COUNTED_ORG: &str = "org-counted";
const CLOSED_ORG: &str = "org-closed";
/// Loads that are paged through.
const PAGED: usize = 45;
/// Longest time until a replica counts the writes of another.
const MAX_STALENESS: Duration = Duration::from_secs(5);

/// Runs all three checks.
pub fn run(deployment: &Deployment<'_>) -> Result<()> {
    pages(deployment)?;
    facets(deployment)?;
    events(deployment)
}

fn id(response: &Response) -> Result<String> {
    Ok(response.json["id"].as_str().with_context(|| format!("no id in {}", response.json))?.to_owned())
}

/// Reads each page of a search at another replica.
fn pages(deployment: &Deployment<'_>) -> Result<()> {
    let (token, replicas) = (deployment.token(Some(PAGED_ORG)), deployment.replicas("logistics"));
    let mut created = Vec::new();
    for number in 0..PAGED {
        let load = Body::Json(organised_load(PAGED_ORG, &format!("P-{number}"), &Value::Null));
        let response =
            replicas[number % replicas.len()].send("POST", "/v1/loads/organiser", &token, &load)?;
        created.push((response.json["createdAtUTC"].to_string(), id(&response)?));
    }
    created.sort(); // loads of the same millisecond are in the order of their ids
    let created: Vec<_> = created.into_iter().map(|(_, id)| id).collect();
    let (mut found, mut pages, mut foreign_links) = (Vec::new(), 0, 0);
    let first = format!("/v1/loads?limit=7&sortBy=createdAt&f:organiserId={PAGED_ORG}");
    let mut next = first.clone();
    loop {
        let response = replicas[pages % replicas.len()].get(&next, &token)?;
        pages += 1;
        let rows = response.json.as_array().context("a page is no array")?;
        found.extend(rows.iter().filter_map(|row| row["id"].as_str().map(str::to_owned)));
        let is_foreign = !response.header("link").contains(&deployment.proxy.url("logistics"));
        foreign_links += usize::from(is_foreign);
        let Some(cursor) = response.cursor() else { break };
        next = format!("{first}&cursor={cursor}");
    }
    let (different, is_in_order) = (found.iter().collect::<BTreeSet<_>>().len(), found == created);
    deployment.trial.expect(
        is_in_order && foreign_links == 0,
        format!("{PAGED} loads created at all replicas, read in {pages} pages, each at another replica"),
        format!("{different}, in order: {is_in_order}; links without the proxy's address: {foreign_links}"),
        format!("{PAGED}, in order, 0"),
    )
}

/// Counts listings after each write: at once where it was written, soon at the others.
fn facets(deployment: &Deployment<'_>) -> Result<()> {
    let (trial, token) = (deployment.trial, deployment.token(Some(COUNTED_ORG)));
    let replicas = deployment.replicas("livestock");
    let total = |replica: &ServiceProcess| {
        let path = format!("/v1/listings?docs=false&f:organisationId={COUNTED_ORG}");
        replica.get(&path, &token)?.json["total"].as_u64().context("no total")
    };
    for replica in replicas {
        total(replica)?; // fills the facet cache
    }
    let (mut slowest, mut late, count) = (Duration::ZERO, 0, if trial.short { 20 } else { 200 });
    for number in 1..=count {
        let writer = &replicas[usize::try_from(number)? % replicas.len()];
        let listing = Body::Json(sheep_listing(&format!("C-{number}"), &Value::Null));
        writer.send("POST", "/v1/listings/sheep", &token, &listing)?;
        late += usize::from(total(writer)? != number);
        for replica in replicas {
            let limit = MAX_STALENESS + trial.grace();
            let took =
                trial.wait_for("all replicas count a listing", limit, || Ok(total(replica)? == number))?;
            slowest = slowest.max(took);
        }
    }
    trial.expect(
        late == 0,
        format!("{count} listings written, facets counted"),
        format!("{late} not at once where written; elsewhere within {} ms", slowest.as_millis()),
        format!("0; {} s", MAX_STALENESS.as_secs()),
    )
}

/// Closes listings at two replicas at the same time: one wins, and both return the same events.
fn events(deployment: &Deployment<'_>) -> Result<()> {
    let (token, admin) = (deployment.token(Some(CLOSED_ORG)), deployment.token(None));
    let replicas = deployment.replicas("livestock");
    let (count, mut wrong) = (if deployment.trial.short { 10 } else { 100 }, 0);
    for _ in 0..count {
        let mut draft = sheep_listing("E", &Value::Null);
        draft["isDraft"] = json!(true);
        let id = id(&replicas[0].send("POST", "/v1/listings/sheep", &token, &Body::Json(draft))?)?;
        let path = |verb| format!("/v1/listings/{id}/{verb}");
        replicas[1].send("POST", &path("publish"), &token, &Body::Empty)?;
        let close = |replica, status: &str| {
            deployment.send(replica, "POST", &path("close"), &token, &Body::Json(json!({ "status": status })))
        };
        let (sold, cancelled) = scope(|scope| {
            let sold = scope.spawn(|| close(&replicas[0], "sold"));
            let cancelled = close(&replicas[1], "cancelled");
            (sold.join().map_err(|_| anyhow!("a client panicked")), cancelled)
        });
        let winner = match (sold??.status, cancelled?.status) {
            (200, 409) => "sold",
            (409, 200) => "cancelled",
            statuses => bail!("closing a listing twice returned {statuses:?}"),
        };
        let events = |replica: &ServiceProcess| replica.get(&path("events"), &admin);
        let (events, others) = (events(&replicas[0])?.json, events(&replicas[1])?.json);
        let statuses: Vec<_> =
            events.as_array().into_iter().flatten().filter_map(|event| event["to"].as_str()).collect();
        ensure!(!statuses.is_empty(), "a listing has no events: {events}");
        if events != others || statuses != ["draft", "active", winner] {
            wrong += 1;
            eprintln!("    closed as {winner}: {events} and {others}");
        }
    }
    deployment.trial.expect(
        wrong == 0,
        format!("{count} listings closed twice at the same time: with different or misordered events"),
        wrong.to_string(),
        "0",
    )
}
