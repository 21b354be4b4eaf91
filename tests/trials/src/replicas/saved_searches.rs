//! Saved searches, which one replica of livestock at a time matches with listings: when it is killed, the other one
//! goes on, and no match is lost or stored twice.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use stack::fixtures::sheep_listing;
use stack::http::Body;
use stack::webhook_receiver::WebhookReceiver;

use super::deployment::Deployment;
use crate::traffic::WRITE_ORG;

/// The lease of the replica that matches (services/livestock/src/saved_searches/matching/worker.rs).
const LEASE: Duration = Duration::from_secs(15);

/// Publishes listings through both replicas and kills the one that matches, twice.
pub fn run(deployment: &mut Deployment<'_>) -> Result<()> {
    let (trial, receiver) = (deployment.trial, WebhookReceiver::start(Duration::ZERO)?);
    let count = if trial.short { 100 } else { 400 };
    let token = deployment.token(Some(WRITE_ORG));
    let replica = &deployment.replicas("livestock")[0];
    let webhook =
        json!({"url": format!("http://127.0.0.1:{}/", receiver.port()), "events": ["listing.matched"]});
    let webhook = replica.send("POST", "/v1/webhooks", &token, &Body::Json(webhook))?;
    let search = json!({"name": "stores", "parameters": {"f:commodityType": "sheep"}, "notify": true});
    let saved = replica.send("POST", "/v1/saved-searches", &token, &Body::Json(search))?;
    let path = |resource: &str, created: &Value| {
        let id = created["id"].as_str().context("the response has no id")?;
        anyhow::Ok(format!("/v1/{resource}/{id}"))
    };
    let (webhook, saved) = (path("webhooks", &webhook.json)?, path("saved-searches", &saved.json)?);
    let listing = Body::Json(sheep_listing("store", &Value::Null));
    let range = deployment.stack.range("livestock");
    // Each replica is killed once, so the one that matches is among them.
    for killed in range.clone() {
        for number in 0..count {
            let replicas = deployment.replicas("livestock");
            let replica = &replicas[number % replicas.len()];
            replica.send("POST", "/v1/listings/sheep", &token, &listing)?;
        }
        deployment.stack.services[killed].kill()?;
        deployment.restart(&[killed])?;
    }
    let total = 2 * count;
    let remaining = "SELECT count(*) FROM listing_events WHERE (position, n) > \
                     (SELECT position, event FROM saved_search_cursor)";
    trial.wait_for("all listings are matched", 2 * LEASE + 2 * trial.grace(), || {
        Ok(deployment.query("livestock", remaining)?.trim() == "0" && receiver.deliveries().len() >= total)
    })?;
    let read = deployment.replicas("livestock")[0].get(&saved, &token)?;
    let matches = deployment.query("livestock", "SELECT sum(length(searches)) / 16 FROM matched_listings")?;
    let deliveries = receiver.deliveries().len();
    trial.expect(
        read.json["newMatches"] == total && matches.trim() == total.to_string() && deliveries == total,
        format!("{total} listings that match a saved search, each replica killed once: new, stored, events"),
        format!("{}, {}, {deliveries}", read.json["newMatches"], matches.trim()),
        format!("{total} each"),
    )?;
    let replica = &deployment.replicas("livestock")[0];
    for path in [webhook, saved] {
        replica.send("DELETE", &path, &token, &Body::Empty)?;
    }
    Ok(())
}
