//! The webhook of an organisation, to which all replicas of logistics deliver: none of the events of acknowledged
//! changes is lost when a replica is killed, and an event that is delivered again keeps its id.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use stack::fixtures::organised_load;
use stack::http::Body;
use stack::webhook_receiver::WebhookReceiver;

use super::deployment::Deployment;
use super::outbox::LEASE;
use crate::traffic::WRITE_ORG;

/// Concurrent deliveries of a replica to one webhook (crates/webhooks).
const MAX_IN_FLIGHT: usize = 8;
/// Delay of the receiver.
const SLOW_RESPONSE: Duration = Duration::from_millis(400);

/// Creates loads through all replicas and kills one of them.
pub fn run(deployment: &mut Deployment<'_>) -> Result<()> {
    let (trial, receiver) = (deployment.trial, WebhookReceiver::start(SLOW_RESPONSE)?);
    let count = if trial.short { 150 } else { 600 };
    let token = deployment.token(Some(WRITE_ORG));
    let webhook =
        json!({"url": format!("http://127.0.0.1:{}/", receiver.port()), "events": ["load.created"]});
    let created =
        deployment.replicas("logistics")[0].send("POST", "/v1/webhooks", &token, &Body::Json(webhook))?;
    let path = format!("/v1/webhooks/{}", created.json["id"].as_str().context("the webhook has no id")?);
    let load = Body::Json(organised_load(WRITE_ORG, "HOOK", &Value::Null));
    for number in 0..count {
        let replicas = deployment.replicas("logistics");
        replicas[number % replicas.len()].send("POST", "/v1/loads/organiser", &token, &load)?;
    }
    ensure!(receiver.deliveries().len() < count, "all were delivered before a replica could be killed");
    let range = deployment.stack.range("logistics");
    deployment.stack.services[range.end - 1].kill()?;
    // The lease, the next look for due deliveries, and the deliveries of the other replicas.
    let limit = LEASE + Duration::from_secs(u64::try_from(count / 20)?) + 2 * trial.grace();
    let pending = "SELECT count(*) FROM webhook_deliveries WHERE status <> 'delivered'";
    trial.wait_for("the events are delivered and recorded", limit, || {
        Ok(receiver.deliveries().len() >= count && deployment.query("logistics", pending)?.trim() == "0")
    })?;
    trial.pause(LEASE)?;
    let deliveries = receiver.deliveries();
    let repeated = deliveries.values().filter(|times| **times > 1).count();
    let most = deliveries.values().max().copied().unwrap_or_default();
    trial.expect(
        deliveries.len() == count && repeated <= MAX_IN_FLIGHT && most <= 2,
        format!("{count} events of an organisation's webhook, one replica killed: delivered, again, most"),
        format!("{}, {repeated}, {most}", deliveries.len()),
        format!("{count}, at most {MAX_IN_FLIGHT}, 2"),
    )?;
    deployment.replicas("logistics")[0].send("DELETE", &path, &token, &Body::Empty)?;
    deployment.restart(&[range.end - 1])
}
