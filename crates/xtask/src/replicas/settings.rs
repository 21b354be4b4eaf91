//! Settings that are put into one replica hold in all of them, which their logs show: a GET would read them anew.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::stage::Stage;
use crate::client::Body;
use crate::service::Service;
use crate::workspace::SERVICES;

/// What the contract promises.
const PROMISED: Duration = Duration::from_secs(5);

/// The level, the filter, and both as they were.
pub fn run(stage: &Stage<'_>) -> Result<()> {
    // The line that a request leaves is one of level info of this target.
    let steps = [
        ("level error", "error", Value::Null, false),
        ("filter common=info", "error", json!("common=info"), true),
        ("filter common::boundary=off", "info", json!("common::boundary=off"), false),
        ("level info, no filter", "info", Value::Null, true),
    ];
    // The first and the last of them: each is seen by what was otherwise before it, and at last all is as it was.
    let step = if stage.trial.short { steps.len() - 1 } else { 1 };
    for (what, level, filter, logged) in steps.into_iter().step_by(step) {
        let begun = Instant::now();
        for name in SERVICES {
            let document = json!({"logging": {"level": level, "filter": filter}});
            stage.send("PUT", (name, "/v1/settings"), &stage.token(None), document)?;
        }
        let most = PROMISED + stage.trial.grace();
        for replica in &stage.replicas {
            let what = format!("{what} in force at {}", replica.name);
            stage.trial.wait_for(&what, most, || Ok(is_logged(stage, replica)? == logged))?;
        }
        let took = begun.elapsed();
        let figure = format!("{:.1} s", took.as_secs_f64());
        let what = format!("settings put at one of each service, in force in all: {what}");
        stage.trial.expect(took <= most, what, figure, format!("{} s", most.as_secs()))?;
    }
    Ok(())
}

/// Whether a request leaves its line in the log.
fn is_logged(stage: &Stage<'_>, replica: &Service) -> Result<bool> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let id = format!("setting-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let headers = [("x-request-id", id.as_str())];
    stage.client.send_with("GET", &replica.url("/healthz"), None, &headers, &Body::Empty)?;
    Ok(replica.log().contains(&format!("\"{id}\"")))
}
