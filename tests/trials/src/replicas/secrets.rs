//! A key is withdrawn: rereading the secrets at one replica makes all reread them.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use stack::http::Body;
use stack::token::Identity;

use super::deployment::Deployment;

/// Longest time until all replicas use changed secrets (docs/api/administration.md).
const MAX_STALENESS: Duration = Duration::from_secs(5);

/// Withdraws the second key of the replicas of system.
pub fn run(deployment: &Deployment<'_>) -> Result<()> {
    let trial = deployment.trial;
    let identity = Identity::of_org(Some("second"));
    let token = identity.token_from(&deployment.second_key, -3600, Duration::from_secs(7200)); // for all clocks
    let systems = deployment.replicas("system");
    let all_accept = |accepted: bool| {
        for replica in systems {
            let path = "/v1/files/none/info";
            let response = deployment.send(replica, "GET", path, &token, &Body::Empty)?;
            if (response.status != 401) != accepted {
                return Ok(false);
            }
        }
        Ok(true)
    };
    trial.wait_for("both keys are accepted", MAX_STALENESS, || all_accept(true))?;
    let both = fs::read_to_string(&deployment.jwks).context("cannot read the key set")?;
    let both: Value = serde_json::from_str(&both)?;
    let first = json!({"keys": [both["keys"][0]]});
    fs::write(&deployment.jwks, first.to_string()).context("cannot write the key set")?;
    systems[0].send("POST", "/v1/cache", &deployment.token(None), &Body::Json(json!({"secrets": true})))?;
    let limit = MAX_STALENESS + trial.grace();
    let took = trial.wait_for("all refuse the withdrawn key", limit, || all_accept(false))?;
    trial.expect(
        took <= limit,
        "secrets reread at one replica: a withdrawn key is refused by the other too",
        format!("after {:.1} s", took.as_secs_f64()),
        format!("{} s", limit.as_secs()),
    )
}
