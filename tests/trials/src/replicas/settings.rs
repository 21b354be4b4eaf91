//! Settings that are changed at one replica take effect in all. The trial looks for that in their logs, because a GET
//! reads the settings from the database.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use stack::checkout::SERVICES;
use stack::http::Body;
use stack::service::ServiceProcess;

use super::deployment::Deployment;

/// Longest time until a setting is in force in all replicas (docs/api/administration.md).
const MAX_STALENESS: Duration = Duration::from_secs(5);
/// Target of the log line of a request, which has level info.
const TARGET: &str = "common::middleware::request_lifecycle";

/// Changes level and filter, and resets them.
pub fn run(deployment: &Deployment<'_>) -> Result<()> {
    let trial = deployment.trial;
    let steps = [
        ("level error", "error", Value::Null, false),
        ("filter common=info", "error", json!("common=info"), true),
        ("filter with the target off", "info", json!(format!("{TARGET}=off")), false),
        ("level info, no filter", "info", Value::Null, true),
    ];
    // The short form makes the first and the last step. Each step changes what is logged.
    for (step, level, filter, is_logged) in steps.into_iter().step_by(if trial.short { 3 } else { 1 }) {
        let begun = Instant::now();
        for name in SERVICES {
            let url = deployment.proxy.url(name) + "/v1/settings";
            let settings = Body::Json(json!({"logging": {"level": level, "filter": filter}}));
            let response = deployment.http.send("PUT", &url, Some(&deployment.token(None)), &settings)?;
            ensure!(response.status == 200, "PUT {url} returned {}: {}", response.status, response.json);
        }
        let limit = MAX_STALENESS + trial.grace();
        for replica in &deployment.stack.services {
            let what = format!("{step} in force at {}", replica.name);
            trial.wait_for(&what, limit, || Ok(logs_request(deployment, replica)? == is_logged))?;
        }
        let took = begun.elapsed();
        trial.expect(
            took <= limit,
            format!("settings changed at one replica of each service, in force in all: {step}"),
            format!("{:.1} s", took.as_secs_f64()),
            format!("{} s", limit.as_secs()),
        )?;
    }
    Ok(())
}

/// Whether a replica logs a request.
fn logs_request(deployment: &Deployment<'_>, replica: &ServiceProcess) -> Result<bool> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let id = format!("setting-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let headers = [("x-request-id", id.as_str())];
    deployment.http.send_with("GET", &replica.url("/healthz"), None, &headers, &Body::Empty)?;
    Ok(replica.log().contains(&format!("\"{id}\"")))
}
