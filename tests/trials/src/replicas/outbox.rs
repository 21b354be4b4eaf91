//! The outbox that the replicas of logistics share, whose clocks differ: each notification is delivered once. The
//! services' own tests kill a process during its deliveries.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use testkit::market::organised_load;
use testkit::processes::http::Body;

use super::deployment::Deployment;
use crate::ledger::{Ledger, WriteState};
use crate::traffic::WRITE_ORG;

/// Drivers of a load (docs/api/loads.md).
const MAX_DRIVERS: usize = 20;
const TIMEOUT: Duration = Duration::from_secs(60);

/// Sends loads to different drivers, through all replicas.
pub fn run(deployment: &Deployment<'_>) -> Result<()> {
    let (trial, receiver) = (deployment.trial, &deployment.receiver);
    let count: usize = if trial.short { 240 } else { 580 };
    let (replicas, token) = (deployment.replicas("logistics"), deployment.token(Some(WRITE_ORG)));
    let post = |number: usize, path: &str, body| {
        let response = replicas[number % replicas.len()].send("POST", path, &token, &Body::Json(body))?;
        response.json["id"].as_str().map(str::to_owned).with_context(|| format!("{path} returned no id"))
    };
    let create = |number| post(number, "/v1/loads/organiser", organised_load(WRITE_ORG, "OUT", &Value::Null));
    let loads = (0..count.div_ceil(MAX_DRIVERS)).map(create).collect::<Result<Vec<_>>>()?;
    let send = |number: usize| {
        let body = json!({"loadId": loads[number / MAX_DRIVERS], "driverId": format!("driver-{number}")});
        post(number, "/v1/loads/send-to-driver", body)
    };
    let ids = (0..count).map(send).collect::<Result<Vec<_>>>()?;
    let all_delivered = || Ok(receiver.deliveries().len() == count);
    trial.wait_for("all notifications are delivered", TIMEOUT, all_delivered)?;
    trial.pause(Duration::from_secs(1))?; // a second delivery would arrive by now
    let mut ledger = Ledger::default();
    let acknowledged = ids.iter().map(|id| (id.as_str(), WriteState::Acknowledged(String::new())));
    ledger.check_counts("webhook", acknowledged, receiver.deliveries());
    let violations = ledger.violations();
    let check = format!("{count} notifications, each delivered once: violations");
    trial.expect(violations == 0, check, violations.to_string(), "0")
}
