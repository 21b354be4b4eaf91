//! Clients that write the same few loads at all replicas and through the proxy, with and without `If-Match` and
//! idempotency keys, while replicas are restarted, killed and frozen. [`History`] checks all that they learn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use parking_lot::Mutex;
use serde_json::{Value, json};
use testkit::market::organised_load;
use testkit::market::random::Random;
use testkit::processes::http::{Body, HttpClient, Response};

use super::deployment::Deployment;
use super::feed::{Feed, WAYS, text};
use super::history::{Event, Exchange, History, Outcome, Version, Write};
use crate::traffic::REQUEST_TIMEOUT;

const ORG: &str = "org-contended";
const CLIENTS: usize = 6;
/// Loads that all clients write. Every other one is completed: it is written by corrections, which are POSTs.
const LOADS: usize = 4;
/// Most requests of a client, which bound the history in memory.
const MAX_REQUESTS: usize = 20_000;
/// Pause of a client between two requests.
const PAUSE: Duration = Duration::from_millis(25);
/// Violations that are printed.
const MAX_PRINTED: usize = 20;

/// The clients and the readers of the feed, at work.
pub struct Contention {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<Result<()>>>,
    readers: Vec<JoinHandle<Vec<Event>>>,
}

struct Shared {
    feed: Feed,
    /// Addresses of logistics: the replicas and the proxy.
    urls: Vec<String>,
    loads: Vec<Load>,
    begun: Instant,
    exchanges: Mutex<Vec<Exchange>>,
    is_stopping: AtomicBool,
}

struct Load {
    id: String,
    is_completed: bool,
}

impl Contention {
    /// Creates the loads and starts clients and readers.
    pub fn start(deployment: &Deployment<'_>) -> Result<Self> {
        let feed = Feed::new(deployment, ORG);
        let urls = [&feed.urls[..], &[deployment.proxy.url("logistics")]].concat();
        let cursor = feed.cursor_at_end()?;
        let (begun, exchanges, is_stopping) = (Instant::now(), Mutex::default(), AtomicBool::new(false));
        let mut shared = Shared { feed, urls, loads: Vec::new(), begun, exchanges, is_stopping };
        (0..LOADS).try_for_each(|number| shared.create(number))?;
        let shared = Arc::new(shared);
        let client = |number| {
            let shared = shared.clone();
            thread::spawn(move || shared.run_client(number))
        };
        let reader = |way| {
            let (shared, cursor) = (shared.clone(), cursor.clone());
            thread::spawn(move || shared.feed.follow(way, cursor, event))
        };
        let (clients, readers) = ((0..CLIENTS).map(client).collect(), WAYS.into_iter().map(reader).collect());
        Ok(Self { shared, clients, readers })
    }

    /// Stops the clients, reads all loads at each address, and checks the history.
    pub fn finish(mut self, deployment: &Deployment<'_>) -> Result<()> {
        self.shared.is_stopping.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            client.join().map_err(|_| anyhow!("a client panicked"))??;
        }
        let http = HttpClient::new(REQUEST_TIMEOUT);
        for load in &self.shared.loads {
            for url in &self.shared.urls {
                let read = self.shared.send(&http, url, load, None)?;
                ensure!(matches!(read, Outcome::Shown(_)), "a load cannot be read: {read:?}");
            }
        }
        let statement = format!("SELECT count(*) FROM load_events WHERE organiser_id = '{ORG}'");
        let total = deployment.query("logistics", &statement)?.trim().parse()?;
        self.shared.feed.total.get_or_init(|| total);
        let readers =
            self.readers.drain(..).map(|reader| reader.join().map_err(|_| anyhow!("a reader panicked")));
        let readers = readers.collect::<Result<Vec<_>>>()?;
        let history = History { exchanges: std::mem::take(&mut self.shared.exchanges.lock()), readers };
        let violations = history.violations();
        violations.iter().take(MAX_PRINTED).for_each(|violation| eprintln!("    {violation}"));
        let count = |is_counted: &dyn Fn(&Outcome) -> bool| {
            let writes = history.exchanges.iter().filter(|exchange| exchange.write.is_some());
            writes.filter(|exchange| is_counted(&exchange.outcome)).count()
        };
        let acknowledged = count(&|outcome| matches!(outcome, Outcome::Shown(_)));
        let refused = count(&|outcome| matches!(outcome, Outcome::Refused(_)));
        let replayed = count(&|outcome| matches!(outcome, Outcome::Replayed(_)));
        let unknown = count(&|outcome| *outcome == Outcome::Unknown);
        deployment.trial.expect(
            violations.is_empty() && acknowledged > 0 && refused > 0 && replayed > 0,
            format!(
                "history of {} requests of {CLIENTS} clients for {LOADS} loads and of {total} events, each read by {} \
                 readers, during all failures",
                history.exchanges.len(),
                WAYS.len()
            ),
            format!(
                "writes acknowledged {acknowledged}, refused {refused}, replayed {replayed}, unknown {unknown}; \
                 violations {}",
                violations.len()
            ),
            "violations 0",
        )
    }
}

impl Drop for Contention {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::Relaxed);
        self.shared.feed.total.get_or_init(|| 0);
        for client in self.clients.drain(..) {
            let _ = client.join();
        }
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

impl Shared {
    fn create(&mut self, number: usize) -> Result<()> {
        let (http, url) = (HttpClient::new(REQUEST_TIMEOUT), self.urls[0].clone());
        let body = organised_load(ORG, &format!("CONTENDED-{number}"), &Value::Null);
        let created = self.exchange(&http, ("POST", &format!("{url}/v1/loads/organiser")), &[], body)?;
        let id = text(&created.json["id"]);
        self.record(&id, 0, Some(Write { value: String::new(), known: None }), outcome(&created)?);
        let is_completed = number % 2 == 1;
        if is_completed {
            let (value, started) = (format!("proof-{number}"), self.now());
            let proof =
                json!({"weightNet": 28, "ticketNumber": value, "vehicleRegistration": "V", "files": null});
            let proof_url = format!("{url}/v1/loads/{id}/proof-of-delivery");
            let proven = self.exchange(&http, ("POST", &proof_url), &[], proof)?;
            self.record(&id, started, Some(Write { value, known: None }), outcome(&proven)?);
        }
        self.loads.push(Load { id, is_completed });
        Ok(())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn exchange(
        &self,
        http: &HttpClient,
        (method, url): (&str, &str),
        headers: &[(&str, &str)],
        body: Value,
    ) -> Result<Response> {
        let body = if body.is_null() { Body::Empty } else { Body::Json(body) };
        http.send_with(method, url, Some(&self.feed.token), headers, &body)
    }

    fn record(&self, load: &str, started: u64, write: Option<Write>, outcome: Outcome) {
        let (load, ended) = (load.to_owned(), self.now());
        self.exchanges.lock().push(Exchange { load, started, ended, write, outcome });
    }

    /// Reads or writes a load at an address. A correction has its value as idempotency key.
    fn send(&self, http: &HttpClient, url: &str, load: &Load, write: Option<&Write>) -> Result<Outcome> {
        let path = format!("{url}/v1/loads/{}", load.id);
        let known = write.and_then(|write| write.known).map(|known| format!("\"{known}\""));
        let mut headers: Vec<_> = known.iter().map(|known| ("if-match", known.as_str())).collect();
        let started = self.now();
        let response = match write {
            None => self.exchange(http, ("GET", &path), &[], Value::Null),
            Some(write) if load.is_completed => {
                headers.push(("idempotency-key", &write.value));
                let correction = json!({"ticketNumber": write.value, "reason": "contended"});
                let corrections = format!("{path}/proof-of-delivery/corrections");
                self.exchange(http, ("POST", &corrections), &headers, correction)
            }
            Some(write) => {
                self.exchange(http, ("PATCH", &path), &headers, json!({"ticketNumber": write.value}))
            }
        };
        let outcome = response.map_or(Ok(Outcome::Unknown), |response| outcome(&response))?;
        self.record(&load.id, started, write.cloned(), outcome.clone());
        Ok(outcome)
    }

    /// Reads and writes random loads at random addresses.
    fn run_client(&self, client: usize) -> Result<()> {
        let (http, mut random) = (HttpClient::new(REQUEST_TIMEOUT), Random::of(client));
        let mut revisions = [1; LOADS];
        for number in 0..MAX_REQUESTS {
            if self.is_stopping.load(Ordering::Relaxed) {
                break;
            }
            let (load, url) = (random.below(LOADS), random.below(self.urls.len()));
            let known = match random.below(10) {
                0..=3 => None,
                4..=7 => Some(Some(revisions[load])),
                8 => Some(Some(revisions[load] - 1)),
                _ => Some(None),
            };
            let write = known.map(|known| Write { value: format!("{client}-{number}"), known });
            let outcome = self.send(&http, &self.urls[url], &self.loads[load], write.as_ref())?;
            // A correction is sent again with its key: always if its outcome is unknown.
            let is_repeated = outcome == Outcome::Unknown || random.percent(20);
            if self.loads[load].is_completed && write.is_some() && is_repeated {
                let other = &self.urls[(url + 1) % self.urls.len()];
                self.send(&http, other, &self.loads[load], write.as_ref())?;
            }
            if let Outcome::Shown(version) = outcome {
                revisions[load] = version.revision;
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// What a response says.
fn outcome(response: &Response) -> Result<Outcome> {
    let Response { status, json, .. } = response;
    Ok(match status {
        200 => {
            let revision = json["revision"].as_i64().context("a load without revision")?;
            let version = Version { revision, value: text(&json["ticketNumber"]) };
            let is_replayed = response.header("idempotency-replayed") == "true";
            if is_replayed { Outcome::Replayed(version) } else { Outcome::Shown(version) }
        }
        412 => Outcome::Refused(json["body"]["revision"].as_i64()),
        409 if json["code"] == "idempotency_in_progress" => Outcome::Refused(None),
        503 if json["code"] == "dependency_unavailable" && json["body"]["outcome"] != "unknown" => {
            Outcome::Refused(None)
        }
        502..=504 => Outcome::Unknown,
        _ => bail!("{status} {}", String::from_utf8_lossy(&response.bytes)),
    })
}

/// An event of the feed as the history has it.
fn event(event: &Value, cursor: Option<&str>) -> Event {
    let position = cursor.and_then(|cursor| {
        let (position, number) = cursor.split_once('.')?;
        Some((u64::from_str_radix(position, 16).ok()?, u64::from_str_radix(number, 16).ok()?))
    });
    let revision = event["revision"].as_i64().unwrap_or_default();
    let value = text(&event["changes"]["ticketNumber"]["to"]);
    Event { position, load: text(&event["loadId"]), version: Version { revision, value } }
}
