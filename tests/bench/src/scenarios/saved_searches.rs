//! The time in which a listing is compared with 10,000 saved searches, and in which the matches are stored.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::environment::BenchEnvironment;
use crate::report::Bound::AtMost;
use testkit::market::listings::{ADDITIONAL_INFO, breed, listing, point};
use testkit::market::random::Random;
use testkit::processes::http::Body;
use testkit::processes::service::ServiceProcess;

/// Users, each with as many searches as a user can save.
const USERS: usize = 200;
const SEARCHES_PER_USER: usize = 50;
const LISTINGS: u32 = 400;
/// Maximum time until all listings are matched.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Time after which no more matches are stored, if none was.
const SETTLING_TIME: Duration = Duration::from_secs(2);

/// Saves searches, publishes listings, and reads the time of a match from the metrics of the service.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    let service = env.start("livestock", env.temp_path("livestock"), env.create_database("livestock")?)?;
    let tokens: Vec<_> = (0..USERS).map(|user| service.token(Some(&format!("org-{user}")))).collect();
    for number in 0..USERS * SEARCHES_PER_USER {
        env.stop.check()?;
        let parameters = parameters(&mut Random::of(number));
        let form = Body::Json(json!({"name": "mine", "parameters": parameters, "notify": true}));
        service.send("POST", "/v1/saved-searches", &tokens[number / SEARCHES_PER_USER], &form)?;
    }
    for number in 0..LISTINGS as usize {
        let mut listing = listing(number);
        listing.body["isDraft"] = json!(false);
        let path = format!("/v1/listings/{}", listing.path);
        service.send("POST", &path, &tokens[number % USERS], &Body::Json(listing.body))?;
    }
    let (started, metric) = (Instant::now(), |name: &str| metric(&service, name));
    // The matches of the last listings are stored after they were matched.
    let (mut matches, mut before) = (0.0, -1.0);
    while metric("match_seconds_count")? < f64::from(LISTINGS) || matches < 1.0 || matches > before {
        env.stop.check()?;
        ensure!(started.elapsed() < TIMEOUT, "not all listings were matched");
        sleep(SETTLING_TIME);
        (before, matches) = (matches, metric("matches_total")?);
    }
    let compare = metric("match_seconds_sum")? / metric("match_seconds_count")? * 1e6;
    let store = metric("store_seconds_sum")? / matches * 1e6;
    env.add_value("saved-searches, comparing a listing", compare, "µs", None);
    env.add_value("saved-searches, storing a match", store, "µs", None);
    let both = compare + 500.0 * store;
    env.add_value("saved-searches, a listing with 500 matches", both, "µs", Some(AtMost(5_000.0)));
    Ok(())
}

/// Returns the parameters of a search as users save them: breeds or a category, often near a place.
fn parameters(random: &mut Random) -> Value {
    let mut parameters = json!({});
    let category = 1 + random.below(3);
    if random.percent(60) {
        let count = 1 + random.below(3);
        let breeds: Vec<_> = (0..count).map(|_| breed(random, category)).collect();
        parameters["f:commodityBreed"] = json!(breeds);
    } else {
        parameters["f:commodityType"] = json!(["sheep", "cattle", "working dog"][category - 1]);
    }
    if random.percent(60) {
        let (lat, lon) = point(random);
        parameters["latitude"] = json!(lat.to_string());
        parameters["longitude"] = json!(lon.to_string());
        parameters["distanceKm"] = json!(random.one(&["25", "50", "100"]));
    }
    if random.percent(20) {
        parameters["maxAge"] = json!(random.one(&["12", "24", "48"]));
    }
    if random.percent(10) {
        parameters["f:commodityAdditionalInfo"] = json!(random.one(&ADDITIONAL_INFO));
    }
    parameters
}

/// Returns the value of a metric of saved searches without labels.
fn metric(service: &ServiceProcess, name: &str) -> Result<f64> {
    let (text, name) = (service.get("/metrics", "")?.bytes, format!("drover_saved_search_{name} "));
    let text = String::from_utf8_lossy(&text);
    let value = text.lines().find_map(|line| line.strip_prefix(name.as_str()));
    value.with_context(|| format!("there is no metric {name}"))?.parse().context("a metric is no number")
}
