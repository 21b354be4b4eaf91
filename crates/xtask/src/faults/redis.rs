//! Redis gone, frozen, and back with another password, seen by system, which goes on without.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;
use serde_json::json;

use super::endure::Fault;
use crate::client::Body;
use crate::load::site::Site;
use crate::load::{Request, Work};
use crate::servers::Redis;
use crate::trial::Trial;

/// A read that finds no cache in time goes on as a miss.
const MISS: Duration = Duration::from_secs(2);
/// A clear waits longer.
const CLEAR: Duration = Duration::from_secs(7);

/// Breaks it in every way, or in the first.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let redis = RefCell::new(Redis::start(&trial.servers.programs().redis, trial.stop)?);
    let environment = vec![("DROVER_SERVICE__CACHE_URL".to_owned(), redis.borrow().url())];
    let site = Site::new(trial.service("system", "redis", None, environment)?)?;
    let (stop, end) = (trial.stop, || redis.borrow_mut().server.end(Signal::TERM));
    let signal = |signal| redis.borrow().server.signal(signal);
    let again = || redis.borrow_mut().start_again(None, stop);
    broken(trial, &site, "Redis gone", end, again)?;
    if trial.short {
        return Ok(());
    }
    let freeze = || {
        signal(Signal::STOP);
        Ok(())
    };
    let thaw = || {
        signal(Signal::CONT);
        Ok(())
    };
    broken(trial, &site, "Redis frozen (SIGSTOP)", freeze, thaw)?;
    let other = || {
        end()?;
        redis.borrow_mut().start_again(Some("another-password"), stop)
    };
    broken(trial, &site, "Redis with another password", other, || end().and_then(|()| again()))
}

fn broken(
    trial: &Trial<'_>,
    site: &Site,
    what: &str,
    break_it: impl FnOnce() -> Result<()>,
    mend: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let mut works = site.probes();
    let place = |answer: &crate::client::Answer| answer.json["threeWords"].is_string();
    works.push(site.asker().read("coordinates", "/v1/locations/coordinates?lat=52.06&lon=-2.72", place));
    works.push(site.asker().read("addresses", "/v1/addresses?query=Hereford", |answer| {
        answer.json["results"].as_array().is_some_and(|results| !results.is_empty())
    }));
    for work in &mut works[2..] {
        work.apart = true;
    }
    works.push(clear(site));
    let refuses =
        Fault { shows: Some("cache"), refuses: true, slowest: CLEAR, ..Fault::new(what, vec![site]) };
    let events = Fault { works: Some(works), ..refuses }.endure(trial, break_it, mend)?;
    let slowest = events.slowest_of(&["coordinates", "addresses"]);
    let (figure, most) = (format!("{:.2} s", slowest.as_secs_f64()), MISS + trial.grace());
    let allowed = format!("{} s", most.as_secs());
    trial.expect(slowest < most, format!("{what}: slowest cached read"), figure, allowed)
}

/// A clear, which alone needs the cache.
fn clear(site: &Site) -> Work {
    let (url, token) = (site.service.url("/v1/cache"), site.service.token(None));
    let ask = Box::new(move |_| Request {
        method: "POST",
        url: url.clone(),
        token: Some(token.clone()),
        body: Body::Json(json!({"prefixes": ["location:"]})),
        mark: None,
        key: None,
    });
    Work {
        name: "clear",
        ask,
        right: Box::new(|answer| answer.json["status"] == "success"),
        also: &[],
        apart: false,
        breaks: false,
    }
}
