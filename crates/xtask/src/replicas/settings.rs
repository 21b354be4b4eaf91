//! Settings that are put into one replica hold in all of them, which their logs show: a GET would read them anew.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::stage::Stage;
use crate::client::Body;
use crate::service::Service;
use crate::workspace::SERVICES;

/// What the contract promises.
const PROMISED: Duration = Duration::from_secs(5);

/// The level, the filter, and both back.
pub fn run(stage: &Stage<'_>) -> Result<()> {
    // The line that a request leaves is one of level info of this target.
    for (what, level, filter, logged) in [
        ("level error", "error", Value::Null, false),
        ("filter common=info", "error", json!("common=info"), true),
        ("filter common::boundary=off", "info", json!("common::boundary=off"), false),
        ("level info", "info", json!("*"), true),
    ] {
        let begun = Instant::now();
        for name in SERVICES {
            let document = json!({"logging": {"level": level, "filter": filter}});
            stage.send("PUT", (name, "/v1/settings"), &stage.token(None), document)?;
        }
        let mut waiting: Vec<&Service> = stage.replicas.iter().collect();
        while !waiting.is_empty() {
            let mut others = Vec::new();
            for replica in waiting {
                if is_logged(stage, replica)? != logged {
                    others.push(replica);
                }
            }
            waiting = others;
            if begun.elapsed() > PROMISED + stage.trial.grace() && !waiting.is_empty() {
                bail!("{what} is not in force at {:?}", waiting.iter().map(|r| r.name).collect::<Vec<_>>());
            }
            stage.trial.pause(Duration::from_millis(50))?;
        }
        let (took, most) = (begun.elapsed(), PROMISED + stage.trial.grace());
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
