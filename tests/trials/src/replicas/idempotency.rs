//! The same POST with the same key at all replicas at the same time has one effect and one response.

use std::sync::Barrier;
use std::thread::scope;

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use stack::fixtures::organised_load;
use stack::http::{Body, Response};

use super::deployment::Deployment;
use crate::traffic::WRITE_ORG;

/// The used keys with their responses.
pub struct UsedKeys(Vec<(String, Vec<u8>)>);

/// Uses many keys, each at all replicas at once; then each with another body.
pub fn run(deployment: &Deployment<'_>) -> Result<UsedKeys> {
    let trial = deployment.trial;
    let count = if trial.short { 40 } else { 400 };
    let keys: Vec<_> = (0..count).map(|number| format!("K-{number}")).collect();
    let responses = post_everywhere(deployment, &keys)?;
    let (replicas, mut wrong, mut used) = (responses.len(), 0, Vec::new());
    for (number, key) in keys.iter().enumerate() {
        let same_key = || responses.iter().map(|responses| &responses[number]);
        let original =
            same_key().find(|response| !is_replay(response)).context("all responses are replays")?;
        let is_same = |response: &Response| response.status == 200 && response.bytes == original.bytes;
        if !same_key().all(is_same)
            || same_key().filter(|response| is_replay(response)).count() + 1 != replicas
        {
            wrong += 1;
            let responses: Vec<_> =
                same_key().map(|response| (response.status, is_replay(response))).collect();
            eprintln!("    {key}: {responses:?}");
        }
        used.push((key.clone(), original.bytes.clone()));
    }
    let what = format!("{count} keys, each at {replicas} replicas at the same time: more than one response");
    trial.expect(wrong == 0, what, wrong.to_string(), "0")?;
    let loads = "SELECT count(*), count(DISTINCT reference_key) FROM loads WHERE reference_key LIKE 'k-%'";
    let loads = deployment.query("logistics", loads)?.trim().replace('|', " of ");
    let expected = format!("{count} of {count}");
    trial.expect(loads == expected, "loads that they created, of different ones", loads.clone(), expected)?;
    let mut refused = 0;
    for (number, key) in keys.iter().enumerate() {
        let response = post(deployment, number % replicas, key, "another")?;
        refused += usize::from(response.status == 409 && response.json["code"] == "idempotency_key_reused");
    }
    let what = "the same keys with another body: 409";
    trial.expect(refused == count, what, refused.to_string(), count.to_string())?;
    Ok(UsedKeys(used))
}

impl UsedKeys {
    /// Checks that all keys are replayed after the restarts.
    pub fn check_replayed(&self, deployment: &Deployment<'_>) -> Result<()> {
        let (mut replayed, count) = (0, self.0.len());
        for (number, (key, body)) in self.0.iter().enumerate() {
            let response = post(deployment, number % deployment.replicas("logistics").len(), key, key)?;
            replayed += usize::from(is_replay(&response) && response.bytes == *body);
        }
        let what = "keys replayed after all restarts";
        deployment.trial.expect(replayed == count, what, replayed.to_string(), count.to_string())
    }
}

/// Posts each key at all replicas at the same time. Returns the responses of each replica.
fn post_everywhere(deployment: &Deployment<'_>, keys: &[String]) -> Result<Vec<Vec<Response>>> {
    let replicas = deployment.replicas("logistics").len();
    let barrier = Barrier::new(replicas);
    let post_all = |replica| {
        let post = |key: &String| {
            barrier.wait();
            post(deployment, replica, key, key)
        };
        // No thread leaves early: the others would wait for it.
        keys.iter().map(post).collect::<Vec<_>>().into_iter().collect::<Result<Vec<_>>>()
    };
    scope(|scope| {
        let post_all = &post_all;
        let threads: Vec<_> = (0..replicas).map(|replica| scope.spawn(move || post_all(replica))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a client panicked"))?).collect()
    })
}

fn is_replay(response: &Response) -> bool {
    response.header("idempotency-replayed") == "true"
}

fn post(deployment: &Deployment<'_>, replica: usize, key: &str, reference: &str) -> Result<Response> {
    let url = deployment.replicas("logistics")[replica].url("/v1/loads/organiser");
    let (token, headers) = (deployment.token(Some(WRITE_ORG)), [("idempotency-key", key)]);
    let load = Body::Json(organised_load(WRITE_ORG, reference, &Value::Null));
    deployment.http.send_with("POST", &url, Some(&token), &headers, &load)
}
