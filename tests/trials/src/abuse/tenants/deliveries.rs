//! Events that many webhooks and saved searches get, and events that a stranger causes.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use parking_lot::Mutex;
use serde_json::{Value, json};
use stack::fixtures::{carried_load, sheep_listing};
use stack::http::Body;
use stack::http_listener::listen;
use stack::multipart::Form;
use stack::service::ServiceProcess;

use super::{ATTACKER, HONEST, MEMORY, Tenants, outcome};
use crate::abuse::outcomes::Outcomes;
use crate::abuse::services::create;
use crate::abuse::target::Limits;

/// An organisation with webhooks, whom the attacker names as carrier.
const VICTIM: &str = "victim";
/// An organisation that works with [`VICTIM`].
const PARTNER: &str = "partner";
/// Limits of docs/api/webhooks.md: webhooks of an organisation, and searches of a user.
const MAX_WEBHOOKS: usize = 20;
const MAX_SEARCHES: usize = 50;
const LISTINGS: usize = 5;
const BREED: &str = "Multiplied";
const BATCH: &str = "/v1/loads/batch";
/// Webhooks of [`VICTIM`].
const WEBHOOKS: usize = 5;
/// Bytes that the listings and their events may take in the database.
const MAX_STORED_MIB: f64 = 8.0;
const MATCH_TIMEOUT: Duration = Duration::from_secs(60);
/// Limit of the time until the event of a partner arrives.
const MAX_DELAY: Duration = Duration::from_secs(5);
/// Limit of a write of another organisation.
const MAX_WRITE: Duration = Duration::from_secs(1);

/// Publishes listings of 40 KB that all searches of a user match, whose organisation has all its webhooks.
pub fn multiply(tenants: &Tenants<'_>) -> Result<()> {
    let (trial, target) = (tenants.trial, &tenants.livestock);
    let service = &target.service;
    let post = |path: &str, body: Value| create(service, path, &target.token, Body::Json(body));
    // A receiver that nobody reaches, so that all deliveries stay.
    let webhook = json!({"url": "https://receiver.invalid/hook", "events": ["listing.matched"]});
    let webhooks = (0..MAX_WEBHOOKS).map(|_| post("/v1/webhooks", webhook.clone()));
    let webhooks = webhooks.collect::<Result<Vec<_>>>()?;
    // Honest clients publish listings of another breed.
    let search = json!({"name": "mine", "parameters": {"f:commodityBreed": BREED}, "notify": true});
    let searches = (0..MAX_SEARCHES).map(|_| post("/v1/saved-searches", search.clone()));
    let searches = searches.collect::<Result<Vec<_>>>()?;
    let rows = || -> Result<usize> {
        let count = |webhook: &String| {
            let path = format!("/v1/webhooks/{webhook}/deliveries?count=true&limit=1");
            let total = service.get(&path, &target.token)?.header("x-total-count").parse::<usize>();
            total.context("no number of deliveries")
        };
        webhooks.iter().map(count).sum()
    };
    let (before, expected) = (stored_mib(tenants, service)?, LISTINGS * MAX_WEBHOOKS);
    let attack = format!(
        "{LISTINGS} listings of 40 KB with {MAX_SEARCHES} matching searches and {MAX_WEBHOOKS} webhooks"
    );
    target.attack(&attack, &Limits { outcomes: &["published"], memory: MEMORY }, || {
        let mut outcomes = Outcomes::default();
        let mut listing = sheep_listing("tenants", &Value::Null);
        listing["properties"]["breed"] = json!(BREED);
        listing["description"] = json!("\u{1f411}".repeat(10_000));
        for _ in 0..LISTINGS {
            post("/v1/listings/sheep", listing.clone())?;
            outcomes.add("published");
        }
        trial.wait_for("all listings are matched", MATCH_TIMEOUT, || Ok(rows()? >= expected))?;
        Ok(outcomes)
    })?;
    let (rows, mib) = (rows()?, stored_mib(tenants, service)? - before);
    // The attacks that follow publish listings too.
    for (collection, id) in [("webhooks", webhooks), ("saved-searches", searches)]
        .iter()
        .flat_map(|(collection, ids)| ids.iter().map(move |id| (collection, id)))
    {
        let url = service.url(&format!("/v1/{collection}/{id}"));
        let deleted = tenants.client.send("DELETE", &url, Some(&target.token), &Body::Empty)?;
        ensure!(deleted.status < 300, "DELETE {url}: {}", deleted.status);
    }
    target.expect(
        rows == expected && mib <= MAX_STORED_MIB,
        "deliveries of these listings",
        format!("{rows} rows, {mib:.1} MiB with all listings"),
        format!("{expected} rows, {MAX_STORED_MIB:.0} MiB"),
    )
}

/// Returns the size of the database of a service.
fn stored_mib(tenants: &Tenants<'_>, service: &ServiceProcess) -> Result<f64> {
    let config = service.config();
    let bytes = if let Some(url) = &config.database {
        let size = "SELECT pg_database_size(current_database())";
        tenants.trial.databases.execute(url, "", size)?.trim().parse()?
    } else {
        let (file, log) = (config.sqlite(), config.sqlite().with_extension("sqlite-wal"));
        fs::metadata(file)?.len() + fs::metadata(log).map_or(0, |log| log.len())
    };
    #[expect(clippy::cast_precision_loss, reason = "a size in MiB")]
    Ok(bytes as f64 / f64::from(1 << 20))
}

/// Names an organisation with webhooks as the carrier of all loads of a batch. Then a partner creates loads for it, and
/// a third organisation writes all the time.
pub fn flood(tenants: &Tenants<'_>) -> Result<()> {
    let (trial, target) = (tenants.trial, &tenants.logistics);
    let (count, service) = (if trial.short { 5_000 } else { 50_000 }, &target.service);
    let arrivals = Arc::new(Mutex::new(Vec::new()));
    let (shared, genuine) = (arrivals.clone(), format!("\"{PARTNER}-"));
    let port = listen(move |request| {
        let is_genuine = request.body.windows(genuine.len()).any(|part| part == genuine.as_bytes());
        shared.lock().push(is_genuine);
        Some(String::new())
    })?;
    let [victim, partner] = [VICTIM, PARTNER].map(|organisation| service.token(Some(organisation)));
    let url = format!("http://127.0.0.1:{port}/hook");
    for _ in 0..WEBHOOKS {
        let webhook = json!({"url": url, "events": ["load.created"]});
        create(service, "/v1/webhooks", &victim, Body::Json(webhook))?;
    }
    let arrived = || arrivals.lock().iter().filter(|is_genuine| **is_genuine).count();
    let is_over = AtomicBool::new(false);
    let attack = format!("a batch of {count} loads that names a carrier with {WEBHOOKS} webhooks");
    let (mut slowest_event, mut slowest_write, mut writes) = (Duration::ZERO, Duration::ZERO, 0);
    target.attack(&attack, &Limits { outcomes: &["200"], memory: 2.0 * MEMORY }, || {
        scope(|scope| {
            let write = || -> Result<(Duration, usize)> {
                let (mut slowest, mut count) = (Duration::ZERO, 0);
                while !is_over.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    let load = Body::Json(carried_load(HONEST, "beside"));
                    create(service, "/v1/loads/carrier", &tenants.honest, load)?;
                    slowest = slowest.max(begun.elapsed());
                    count += 1;
                    trial.pause(Duration::from_millis(20))?;
                }
                Ok((slowest, count))
            };
            let other = scope.spawn(write);
            let send_partner = |number: usize| -> Result<Duration> {
                let form = Body::Form(loads_for_victim(PARTNER, number, 1));
                let response = tenants.client.send("POST", &service.url(BATCH), Some(&partner), &form)?;
                ensure!(response.status == 200, "a batch of the partner: {}", response.status);
                let expected = WEBHOOKS * (number + 1);
                trial.wait_for("the event of a partner arrives", 4 * MAX_DELAY, || Ok(arrived() >= expected))
            };
            let result = (|| {
                let form = Body::Form(loads_for_victim(ATTACKER, 0, count));
                let response = tenants.post(target, BATCH, form)?;
                let mut outcomes = Outcomes::default();
                outcomes.add(outcome(&response));
                for number in 0..3 {
                    slowest_event = slowest_event.max(send_partner(number)?);
                    trial.pause(Duration::from_millis(500))?;
                }
                Ok(outcomes)
            })();
            is_over.store(true, Ordering::Relaxed);
            (slowest_write, writes) = other.join().map_err(|_| anyhow!("a thread panicked"))??;
            result
        })
    })?;
    let received = arrivals.lock().len();
    target.expect(
        slowest_event <= MAX_DELAY && slowest_write <= MAX_WRITE,
        "an event of a partner, and writes of another organisation meanwhile",
        format!(
            "after {:.2} s at most, {received} others before it; slowest of {writes} writes {:.2} s",
            slowest_event.as_secs_f64(),
            slowest_write.as_secs_f64()
        ),
        format!("{} s; {} s", MAX_DELAY.as_secs(), MAX_WRITE.as_secs()),
    )
}

/// Returns a batch of loads of an organisation that [`VICTIM`] carries.
fn loads_for_victim(organiser: &str, first: usize, count: usize) -> Form {
    let mut csv =
        "reference,deliveryDateISO,commodityId,weight,carrierId,carrierName,organiserId,organiserName\n"
            .to_owned();
    for number in first..first + count {
        let _ = writeln!(csv, "{organiser}-{number},2026-03-01,1,29,{VICTIM},Haulage,{organiser},Grain");
    }
    Form {
        fields: Vec::new(),
        file_name: "loads.csv",
        media_type: "text/csv",
        content: csv.into_bytes().into(),
    }
}
