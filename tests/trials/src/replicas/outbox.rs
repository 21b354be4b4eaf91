//! The outbox that the replicas of logistics share: each notification is delivered once, by one of them. Those that a
//! killed replica had leased are delivered after the lease.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use stack::fixtures::organised_load;
use stack::http::Body;

use super::deployment::{Deployment, RESPONSE_DELAY};
use super::webhook_signature::sender;
use crate::ledger::{Ledger, WriteState};
use crate::traffic::WRITE_ORG;

/// Concurrent deliveries of a replica (crates/webhooks).
const MAX_IN_FLIGHT: usize = 16;
/// Drivers of a load (docs/api/loads.md).
const MAX_DRIVERS: usize = 20;
/// Lease of a delivery: twice the webhook timeout (1.5 s here) and a second (crates/webhooks).
pub const LEASE: Duration = Duration::from_secs(4);
/// Delay of the receiver while a replica is killed.
const SLOW_RESPONSE: Duration = Duration::from_millis(400);

/// Delivers notifications with all replicas, then while one is killed.
pub fn run(deployment: &mut Deployment<'_>) -> Result<()> {
    let (trial, receiver) = (deployment.trial, &deployment.receiver);
    // With the half that follows, less than an organisation may send.
    let count = if trial.short { 240 } else { 380 };
    let sent = send(deployment, count)?;
    let timeout = Duration::from_secs(60);
    let all_delivered = || Ok(receiver.deliveries().len() == count);
    trial.wait_for("all notifications are delivered", timeout, all_delivered)?;
    trial.pause(Duration::from_secs(1))?; // a second delivery would arrive by now
    let (mut ledger, overlaps) = (Ledger::default(), receiver.overlaps());
    let acknowledged = |id| (id, WriteState::Acknowledged(String::new()));
    let sent = sent.iter().map(String::as_str).map(acknowledged);
    ledger.check_counts("webhook", sent, receiver.deliveries());
    trial.expect(
        ledger.violations() == 0 && overlaps == 0,
        format!("{count} notifications, each delivered once: violations, overlapping deliveries"),
        format!("{}, {overlaps}", ledger.violations()),
        "0, 0",
    )?;
    let replicas = deployment.replicas("logistics").len();
    let mut shares = vec![0; replicas];
    let mut unsigned = 0;
    for webhook in receiver.requests() {
        match sender(&webhook, replicas) {
            Some(replica) => shares[replica] += 1,
            None => unsigned += 1,
        }
    }
    trial.expect(
        unsigned == 0 && shares.iter().all(|share| *share > 0),
        "delivered by each replica, by its signature",
        format!("{shares:?}, wrong signatures: {unsigned}"),
        "some each, 0",
    )?;
    kill_one(deployment, count / 2)
}

/// Kills a replica during its deliveries.
fn kill_one(deployment: &mut Deployment<'_>, count: usize) -> Result<()> {
    let trial = deployment.trial;
    deployment.receiver.set_delay(SLOW_RESPONSE);
    let before = deployment.receiver.deliveries().len();
    let sent = send(deployment, count)?;
    let delivered = |deployment: &Deployment<'_>| deployment.receiver.deliveries().len() - before;
    ensure!(delivered(deployment) < count, "all were delivered before a replica could be killed");
    let (range, replicas) = (deployment.stack.range("logistics"), deployment.replicas("logistics").len());
    deployment.stack.services[range.end - 1].kill()?;
    let (killed, received) = (Instant::now(), deployment.receiver.requests().len());
    // After the lease: up to a second until the next look for due notifications, and the deliveries.
    let limit = LEASE + Duration::from_secs(4) + 2 * trial.grace();
    // Deliveries of the killed replica count as received before they are recorded.
    let pending = "SELECT count(*) FROM notifications WHERE status <> 'delivered'";
    trial.wait_for("the rest is delivered and recorded", limit, || {
        Ok(delivered(deployment) == count && deployment.query("logistics", pending)?.trim() == "0")
    })?;
    let took = killed.elapsed();
    trial.pause(LEASE)?;
    let (deliveries, webhooks) = (deployment.receiver.deliveries(), deployment.receiver.requests());
    let repeated: Vec<_> =
        sent.iter().filter_map(|id| deliveries.get(id)).filter(|times| **times > 1).collect();
    // Deliveries of the killed replica that were in flight: it never recorded their responses.
    let in_flight: BTreeSet<_> = webhooks[received..]
        .iter()
        .filter(|webhook| sender(webhook, replicas) == Some(replicas - 1))
        .map(|webhook| webhook.header("webhook-id"))
        .collect();
    let lost = in_flight.iter().filter(|id| deliveries.get(**id) != Some(&2)).count();
    let is_right = !in_flight.is_empty()
        && lost == 0
        && repeated.len() <= MAX_IN_FLIGHT
        && repeated.iter().all(|times| **times == 2);
    trial.expect(
        is_right,
        format!("{count} more, one replica killed during its deliveries"),
        format!(
            "all after {:.1} s; {} delivered again under their id; of its {} in flight not again: {lost}",
            took.as_secs_f64(),
            repeated.len(),
            in_flight.len()
        ),
        format!("{} s (lease {} s); {MAX_IN_FLIGHT}; 0", limit.as_secs(), LEASE.as_secs()),
    )?;
    deployment.receiver.set_delay(RESPONSE_DELAY);
    deployment.restart(&[range.end - 1])
}

/// Sends loads to different drivers, through all replicas. Returns the ids of the notifications.
fn send(deployment: &Deployment<'_>, count: usize) -> Result<BTreeSet<String>> {
    let (replicas, token) = (deployment.replicas("logistics"), deployment.token(Some(WRITE_ORG)));
    let create = |_| {
        let load = Body::Json(organised_load(WRITE_ORG, "OUT", &Value::Null));
        replicas[0].send("POST", "/v1/loads/organiser", &token, &load)
    };
    let loads = (0..count.div_ceil(MAX_DRIVERS)).map(create).collect::<Result<Vec<_>>>()?;
    let send = |number: usize| {
        let load = &loads[number / MAX_DRIVERS].json["id"];
        let body = Body::Json(json!({"loadId": load, "driverId": format!("driver-{number}")}));
        let replica = &replicas[number % replicas.len()];
        let response = replica.send("POST", "/v1/loads/send-to-driver", &token, &body)?;
        response.json["id"].as_str().map(str::to_owned).context("a notification has no id")
    };
    (0..count).map(send).collect()
}
