//! The cache that the replicas of system share: entries of one are used by the other, and a clear at one holds
//! for both, even while requests are in flight.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::scope;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use stack::http::{Body, HttpClient};
use stack::service::ServiceProcess;

use super::deployment::Deployment;
use crate::traffic::REQUEST_TIMEOUT;

const PLACE: &str = "/v1/locations/coordinates?lat=52.05&lon=-2.7";
const CACHE_KEY: &str = "location:coordinates:grid:photon:52.05,-2.7";
/// Clients that read at each replica during the clears.
const READERS: usize = 2;
/// Time in which a replica reconnects to Redis, with a reserve.
const RECONNECT_TIME: Duration = Duration::from_secs(2);
/// Time in which a clear succeeds, if need be after the replica has reconnected to Redis.
const CLEAR_LIMIT: Duration = Duration::from_secs(10);

/// Fills the cache once, then clears it in every way while clients read.
pub fn run(deployment: &Deployment<'_>) -> Result<()> {
    let systems = deployment.replicas("system");
    // A replica reads without the cache for a second if the machine stalls during one of its calls to Redis. So the
    // best of three attempts counts.
    let mut requests = 0;
    for _ in 0..3 {
        clear(deployment, &systems[0], &json!({"flush": true}))?;
        let before = deployment.addresses.requests();
        for replica in [&systems[0], &systems[1], &systems[0], &systems[1]] {
            read_edition(&deployment.http, replica)?;
        }
        requests = deployment.addresses.requests() - before;
        if requests == 1 {
            break;
        }
        deployment.trial.pause(RECONNECT_TIME)?;
    }
    let what = "a place read at two replicas, twice each: requests to its provider";
    deployment.trial.expect(requests == 1, what, requests.to_string(), "1")?;
    clears(deployment)
}

/// The edition of the provider's data that a response is made of.
fn read_edition(http: &HttpClient, replica: &ServiceProcess) -> Result<usize> {
    let response = http.send("GET", &replica.url(PLACE), None, &Body::Empty)?;
    let name = response.json["address"]["name"].as_str().unwrap_or_default();
    let edition = name.strip_prefix("Edition ").and_then(|number| number.parse().ok());
    edition.with_context(|| format!("{} {}", response.status, response.json))
}

/// Clears the cache at a replica and returns the message. Repeats a clear that fails because Redis is disconnected.
fn clear(deployment: &Deployment<'_>, replica: &ServiceProcess, request: &Value) -> Result<String> {
    let (token, mut message) = (deployment.token(None), None);
    deployment.trial.wait_for("the cache is cleared", CLEAR_LIMIT, || {
        let response = deployment.send(replica, "POST", "/v1/cache", &token, &Body::Json(request.clone()))?;
        ensure!([200, 503].contains(&response.status), "clear: {} {}", response.status, response.json);
        message = response.json["message"].as_str().map(str::to_owned);
        Ok(response.status == 200)
    })?;
    message.context("a cleared cache has a message")
}

/// After a new edition and a clear at one replica, both must return the new edition.
fn clears(deployment: &Deployment<'_>) -> Result<()> {
    let systems = deployment.replicas("system");
    let rounds = if deployment.trial.short { 40 } else { 300 };
    let (is_done, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut stale, mut effective) = (0, 0);
    let mut clear_and_read = |round: usize| {
        deployment.trial.check()?;
        deployment.addresses.publish(round);
        let request = match round % 3 {
            0 => json!({"prefixes": ["location:coordinates:"]}),
            1 => json!({"keys": [CACHE_KEY]}),
            _ => json!({"flush": true}),
        };
        let message = clear(deployment, &systems[round / 3 % 2], &request)?;
        effective += usize::from(!message.starts_with("0 "));
        for replica in systems {
            stale += usize::from(read_edition(&deployment.http, replica)? < round);
        }
        Ok::<_, anyhow::Error>(())
    };
    scope(|scope| {
        for reader in 0..2 * READERS {
            let (replica, is_done, reads) = (&systems[reader % 2], &is_done, &reads);
            scope.spawn(move || {
                let http = HttpClient::new(REQUEST_TIMEOUT);
                while !is_done.load(Ordering::Relaxed) {
                    reads.fetch_add(usize::from(read_edition(&http, replica).is_ok()), Ordering::Relaxed);
                }
            });
        }
        let result = (1..=rounds).try_for_each(&mut clear_and_read);
        is_done.store(true, Ordering::Relaxed);
        result
    })?;
    deployment.trial.expect(
        stale == 0 && effective > 0,
        "stale responses after clears by keys, prefixes and all, at either replica",
        format!(
            "{stale} of {} after {rounds} clears ({effective} removed entries), {} concurrent reads",
            2 * rounds,
            reads.into_inner()
        ),
        "0",
    )
}
