//! Keys that are withdrawn: whoever is told to read the secrets again has the others read them too.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::stage::Stage;
use crate::client::Body;
use crate::service::Service;
use crate::token::Identity;

/// The longest time until every replica uses changed secrets, as for settings (docs/api/administration.md).
const MAX_STALENESS: Duration = Duration::from_secs(5);

/// Withdraws a key that every replica knows.
pub fn run(stage: &Stage<'_>) -> Result<()> {
    let who = Identity { user: "second", name: None, org: Some("second"), org_name: None, roles: &[] };
    let token = who.token(&stage.second, Duration::from_secs(3600));
    let known = |replica: &Service| {
        let answer = stage.ask(replica, "GET", "/v1/files/none/info", &token, &Body::Empty)?;
        Ok::<_, anyhow::Error>(answer.status != 401)
    };
    let all = |known_now: bool| {
        let mut all = true;
        for replica in stage.of("system") {
            all &= known(replica)? == known_now;
        }
        Ok::<_, anyhow::Error>(all)
    };
    stage.trial.wait_for("both keys are known", MAX_STALENESS, || all(true))?;
    let first = fs::read_to_string(&stage.jwks).context("cannot read the keys")?;
    let first: serde_json::Value = serde_json::from_str(&first)?;
    fs::write(&stage.jwks, json!({"keys": [first["keys"][0]]}).to_string())
        .context("cannot write the keys")?;
    let told = stage.of("system").next().context("no system")?;
    let body = Body::Json(json!({"secrets": true}));
    told.send("POST", "/v1/cache", &stage.token(None), &body)?;
    let most = MAX_STALENESS + stage.trial.grace();
    let took = stage.trial.wait_for("a withdrawn key is refused by all", most, || all(false))?;
    let what = "secrets read again at one: a withdrawn key is refused by the other too";
    let figure = format!("after {:.1} s", took.as_secs_f64());
    stage.trial.expect(took <= most, what, figure, format!("{} s", most.as_secs()))
}
