//! The time in which a listing is compared with 10,000 saved searches, and in which the matches are stored.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use testkit::market::listings::{ADDITIONAL_INFO, breed, listing, point};
use testkit::market::random::Random;
use testkit::processes::http::Body;
use testkit::processes::service::ServiceProcess;

use crate::environment::BenchEnvironment;

/// Users, each with as many searches as a user can save.
const USERS: usize = 200;
const SEARCHES_PER_USER: usize = 50;
const LISTINGS: usize = 400;
/// Maximum time until all listings are matched.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Time after which no more matches are stored, if none was.
const SETTLING_TIME: Duration = Duration::from_secs(2);
const MATCHES: &str = "drover_saved_search_matches_total";

/// Saves searches, publishes listings, and reads the time of a match from the metrics of the service.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    let service = env.start_empty("livestock")?;
    let tokens: Vec<_> = (0..USERS).map(|user| service.token(Some(&format!("org-{user}")))).collect();
    for (user, token) in tokens.iter().enumerate() {
        env.stop.check()?;
        for number in 0..SEARCHES_PER_USER {
            let parameters = parameters(&mut Random::of(user * SEARCHES_PER_USER + number));
            let form = Body::Json(json!({"name": "mine", "parameters": parameters, "notify": true}));
            service.send("POST", "/v1/saved-searches", token, &form)?;
        }
    }
    for number in 0..LISTINGS {
        let mut listing = listing(number);
        listing.body["isDraft"] = json!(false);
        let path = format!("/v1/listings/{}", listing.path);
        service.send("POST", &path, &tokens[number % USERS], &Body::Json(listing.body))?;
    }
    let started = std::time::Instant::now();
    let count = "drover_saved_search_match_seconds_count";
    let wait_until = |condition: &dyn Fn() -> Result<bool>| -> Result<()> {
        while !condition()? {
            env.stop.check()?;
            anyhow::ensure!(started.elapsed() < TIMEOUT, "not all listings were matched");
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    };
    wait_until(&|| Ok(metric(&service, count)? >= f64::from(u32::try_from(LISTINGS)?)))?;
    // The matches of the last listings are stored after that.
    wait_until(&|| {
        let matches = metric(&service, MATCHES)?;
        std::thread::sleep(SETTLING_TIME);
        Ok(matches > 0.0 && metric(&service, MATCHES)?.total_cmp(&matches).is_eq())
    })?;
    let mean = metric(&service, "drover_saved_search_match_seconds_sum")? / metric(&service, count)? * 1e6;
    let matches = metric(&service, MATCHES)?;
    let stored = metric(&service, "drover_saved_search_store_seconds_sum")? / matches * 1e6;
    env.add_metric("livestock: comparing a listing with 10,000 saved searches".to_owned(), mean, None, "µs");
    env.add_metric("livestock: storing a match".to_owned(), stored, Some(8.0), "µs");
    let both = mean + 500.0 * stored;
    env.add_metric(
        "livestock: comparing a listing with 10,000 saved searches and storing 500 matches".to_owned(),
        both,
        Some(5_000.0),
        "µs",
    );
    env.add_note(format!("{LISTINGS} listings matched 10,000 saved searches {matches} times."));
    env.record("a listing among 10,000 saved searches, with 500 matches", Some(both));
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

/// Returns the value of a metric without labels.
fn metric(service: &ServiceProcess, name: &str) -> Result<f64> {
    let text = service.get("/metrics", "")?.bytes;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.with_context(|| format!("there is no metric {name}"))?.parse().context("a metric is no number")
}
