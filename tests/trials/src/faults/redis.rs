//! Redis ends, freezes, and returns with another password. `system` works without a cache meanwhile.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;
use serde_json::json;
use stack::environment::variables;
use stack::http::Body;
use stack::servers::Redis;
use stack::trial::Trial;

use super::fault::Fault;
use crate::traffic::{Request, Target, Workload};

/// Limit of a read that finds no cache in time.
const READ_LIMIT: Duration = Duration::from_secs(2);
/// Limit of a clear, which waits longer.
const CLEAR_LIMIT: Duration = Duration::from_secs(7);

/// Runs all faults of Redis, or in the short form one.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let redis = RefCell::new(Redis::start(&trial.servers.programs().redis, trial.stop)?);
    let url = redis.borrow().url();
    let environment = variables([("SERVICE__CACHE_URL", url)]);
    let target = Target::new(trial.service("system", "redis", None, environment)?)?;
    let end = || redis.borrow_mut().server.end(Signal::TERM);
    let start = |password| redis.borrow_mut().start_again(password, trial.stop);
    let restart = |password| end().and_then(|()| start(password));
    let signal = |signal| {
        redis.borrow().server.signal(signal);
        Ok(())
    };
    check(trial, &target, "Redis ended", end, || start(None))?;
    if trial.short {
        return Ok(());
    }
    check(trial, &target, "Redis frozen (SIGSTOP)", || signal(Signal::STOP), || signal(Signal::CONT))?;
    let other = Some("another-password");
    check(trial, &target, "Redis with another password", || restart(other), || restart(None))
}

fn check(
    trial: &Trial<'_>,
    target: &Target,
    name: &str,
    fail: impl FnOnce() -> Result<()>,
    repair: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let mut fault =
        Fault::new(trial, name, vec![target]).shown_as("cache").refusing().responses_within(CLEAR_LIMIT);
    let place = "/v1/locations/coordinates?lat=52.06&lon=-2.72";
    let place = target.client.reads("coordinates", place, |r| r.json["threeWords"].is_string());
    let addresses = target.client.reads("addresses", "/v1/addresses?query=Hereford", |response| {
        response.json["results"].as_array().is_some_and(|results| !results.is_empty())
    });
    // Only a clear needs the cache.
    let (url, token) = (target.service.url("/v1/cache"), target.service.token(None));
    let clear = move |_| Request::new("POST", &url, &token, Body::Json(json!({"prefixes": ["location:"]})));
    let clear = Workload::new("system", "clear", clear, |r| r.json["status"] == "success");
    fault.workloads = target.client.probes().into();
    fault.workloads.extend([place.unaffected(), addresses.unaffected(), clear]);
    let slowest = fault.run(fail, repair)?.slowest_of(&["coordinates", "addresses"]);
    let limit = READ_LIMIT + trial.grace();
    trial.expect(
        slowest < limit,
        format!("{name}: slowest cached read"),
        format!("{:.2} s", slowest.as_secs_f64()),
        format!("{} s", limit.as_secs()),
    )
}
