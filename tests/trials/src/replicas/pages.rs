//! Pages of a search, each of which another replica reads.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::Value;
use testkit::market::organised_load;
use testkit::processes::http::{Body, Response};

use super::deployment::Deployment;

const PAGED_ORG: &str = "org-paged";
/// Loads that are paged through.
const PAGED: usize = 45;

fn id(response: &Response) -> Result<String> {
    Ok(response.json["id"].as_str().with_context(|| format!("no id in {}", response.json))?.to_owned())
}

/// Reads each page of a search at another replica.
pub fn run(deployment: &Deployment<'_>) -> Result<()> {
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
