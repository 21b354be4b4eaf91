//! What mistakes look like: every wrong field named at once, and no entry without a token.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::people::People;
use super::{Walk, check, show};

/// Three wrong fields, then no token.
pub fn run(walk: &mut Walk, people: &People) -> Result<()> {
    walk.step("A load with three mistakes: the answer names all of them");
    let body = json!({
        "carrierId": people.haulier.org,
        "carrierName": people.haulier.org_name,
        "commodityId": 1,
        "reference": "",
        "deliveryDateISO": "next Tuesday",
        "weight": -3,
        "tags": [],
    });
    let url = format!("{}/v1/loads/carrier", walk.logistics);
    let refused = walk.post(Some(&people.haulier), &url, body, 400)?;
    check::error(&refused, "validation_failed")?;
    let paths = paths(&refused.json);
    let wanted = ["deliveryDateISO", "reference", "weight"];
    ensure!(paths == wanted, "validation should name {wanted:?} once each, but names {paths:?}");
    show::passed("validation names deliveryDateISO, reference and weight");

    walk.step("Without a token");
    let refused = walk.get(None, &format!("{}/v1/loads", walk.logistics), 401)?;
    check::error(&refused, "unauthenticated")?;
    ensure!(
        refused.header("www-authenticate").starts_with("Bearer"),
        "a 401 should send WWW-Authenticate: Bearer"
    );
    show::passed("WWW-Authenticate says what is wanted");
    Ok(())
}

/// The paths of all validation entries, sorted.
fn paths(error: &Value) -> Vec<&str> {
    let entries = error["validation"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut paths: Vec<&str> = entries.iter().filter_map(|entry| entry["path"].as_str()).collect();
    paths.sort_unstable();
    paths
}
