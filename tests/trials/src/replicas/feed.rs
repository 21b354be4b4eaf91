//! The feed of logistics while four clients write at all replicas and one of these is killed: whoever reads pages,
//! waits for events or follows the stream gets each event once, in the order in which it is stored.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use parking_lot::Mutex;
use serde_json::{Value, json};
use testkit::market::batch;
use testkit::market::random::Random;
use testkit::processes::http::{Body, HttpClient};

use super::deployment::Deployment;
use crate::traffic::REQUEST_TIMEOUT;

/// The organisation of the loads.
const ORG: &str = "org-feed";
/// The condition for the events that it reads.
const OF_ORG: &str = "'org-feed' IN (organiser_id, carrier_id, created_by)";
/// Clients that write at the same time.
const WRITERS: usize = 4;
/// Loads that a writer imports at a time, and changes that it makes then.
const IMPORTED: usize = 400;
const CHANGES: usize = 100;
/// A stream is closed after this time and continues at another replica.
const STREAM_TIME: Duration = Duration::from_secs(5);
/// Time in which a reader receives the last events after they are written.
const READING_TIMEOUT: Duration = Duration::from_secs(60);

/// How a reader follows the feed.
#[derive(Debug, Clone, Copy)]
enum Way {
    Pages,
    Waiting,
    Stream,
}

const WAYS: [Way; 3] = [Way::Pages, Way::Waiting, Way::Stream];

/// Writes and reads at all replicas, and kills one meanwhile.
pub fn run(deployment: &mut Deployment<'_>) -> Result<()> {
    let trial = deployment.trial;
    let events_of_writer = if trial.short { 1_000 } else { 25_000 };
    let market = Market {
        urls: deployment.replicas("logistics").iter().map(|replica| replica.url("")).collect(),
        token: deployment.token(Some(ORG)),
        loads: Mutex::default(),
        acknowledged: AtomicUsize::new(0),
        stored: OnceLock::new(),
    };
    let start = market.cursor_at_end()?;
    let begun = Instant::now();
    let (stored, received) = thread::scope(|scope| {
        let market = &market;
        let readers = WAYS.map(|way| {
            let start = start.clone();
            scope.spawn(move || market.follow(way, start))
        });
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || market.write(writer, events_of_writer))).collect();
        let killed = kill_one(deployment);
        let written = writers.into_iter().map(join).collect::<Result<Vec<()>>>();
        let stored = stored_events(deployment).unwrap_or_default();
        // Readers end when they have so many events, also after a failure.
        market.stored.get_or_init(|| stored.len());
        let received = readers.map(|reader| reader.join().map_err(|_| anyhow!("a reader panicked")));
        killed.and(written)?;
        anyhow::Ok((stored, received))
    })?;
    let acknowledged = market.acknowledged.load(Ordering::Relaxed);
    let took = begun.elapsed().as_secs();
    ensure!(stored.len() >= acknowledged, "{acknowledged} events are acknowledged, {} stored", stored.len());
    for (way, received) in WAYS.into_iter().zip(received) {
        let (missed, twice, is_in_order) = compare(&stored, &received?);
        trial.expect(
            missed == 0 && twice == 0 && is_in_order,
            format!(
                "{} events of {WRITERS} writers in {took} s, one replica killed (-9), read by {way:?}",
                stored.len()
            ),
            format!("missed {missed}, twice {twice}, in order: {is_in_order}"),
            "missed 0, twice 0, in order",
        )?;
    }
    let disordered = format!(
        "SELECT count(*) FROM (SELECT revision <= lag(revision) OVER (PARTITION BY load_id ORDER BY position, n) \
         AS is_disordered FROM load_events WHERE {OF_ORG}) AS events WHERE is_disordered"
    );
    let disordered = deployment.query("logistics", &disordered)?;
    trial.expect(
        disordered.trim() == "0",
        "events after one of the same or a later revision of their load",
        disordered.trim().to_owned(),
        "0",
    )
}

fn stored_events(deployment: &Deployment<'_>) -> Result<Vec<String>> {
    let statement = format!("SELECT id FROM load_events WHERE {OF_ORG} ORDER BY position, n");
    Ok(deployment.query("logistics", &statement)?.lines().map(str::to_owned).collect())
}

fn join<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().map_err(|_| anyhow!("a client panicked"))?
}

/// Kills the second replica while clients use it, and starts it again.
fn kill_one(deployment: &mut Deployment<'_>) -> Result<()> {
    let victim = deployment.stack.range("logistics").start + 1;
    deployment.trial.pause(Duration::from_secs(2))?;
    deployment.stack.services[victim].kill()?;
    deployment.trial.pause(Duration::from_secs(1))?;
    deployment.restart(&[victim])
}

/// Returns how many stored events were not received, how many were received more than once, and whether all were
/// received in their order.
fn compare(stored: &[String], received: &[String]) -> (usize, usize, bool) {
    let mut counts = BTreeMap::<&str, usize>::new();
    for id in received {
        *counts.entry(id).or_default() += 1;
    }
    let missed = stored.iter().filter(|id| !counts.contains_key(id.as_str())).count();
    let twice = counts.values().filter(|count| **count > 1).count();
    (missed, twice, stored == received)
}

/// What writers and readers share.
struct Market {
    /// Addresses of the replicas.
    urls: Vec<String>,
    token: String,
    /// Ids of the imported loads.
    loads: Mutex<Vec<String>>,
    /// Events of acknowledged writes.
    acknowledged: AtomicUsize,
    /// The number of all events, when they are written.
    stored: OnceLock<usize>,
}

impl Market {
    fn cursor_at_end(&self) -> Result<String> {
        let url = format!("{}/v1/events?after=now", self.urls[0]);
        let http = HttpClient::new(REQUEST_TIMEOUT);
        let response = http.send("GET", &url, Some(&self.token), &Body::Empty)?;
        Ok(response.json["cursor"].as_str().context("no cursor")?.to_owned())
    }

    /// Imports loads and changes loads of all writers until it has written so many events. A replica may be away.
    fn write(&self, writer: usize, events: usize) -> Result<()> {
        let (http, mut random) = (HttpClient::new(REQUEST_TIMEOUT), Random::of(writer));
        let (mut written, mut failed) = (0, 0);
        for number in 0.. {
            if written >= events {
                break;
            }
            ensure!(failed <= IMPORTED, "writer {writer}: {failed} requests failed");
            let replica = &self.urls[(writer + number) % self.urls.len()];
            let send = |method: &str, path: &str, body| {
                http.send(method, &format!("{replica}{path}"), Some(&self.token), &body)
            };
            let import = Body::Form(batch(ORG, &format!("FEED-{writer}-{number}"), IMPORTED));
            match send("POST", "/v1/loads/batch", import) {
                Ok(response) if response.status < 300 => {
                    let ids = response.json["ids"].as_array().context("a batch returned no ids")?;
                    self.loads.lock().extend(ids.iter().filter_map(Value::as_str).map(str::to_owned));
                    written += ids.len();
                }
                _ => failed += 1,
            }
            for change in 0..CHANGES {
                let loads = self.loads.lock();
                let Some(load) = loads.get(random.below(loads.len().max(1))).cloned() else { continue };
                drop(loads);
                let tags = json!({"tags": [format!("{writer}-{number}-{change}")]});
                match send("PATCH", &format!("/v1/loads/{load}"), Body::Json(tags)) {
                    Ok(response) if response.status == 200 => written += 1,
                    _ => failed += 1,
                }
            }
        }
        self.acknowledged.fetch_add(written, Ordering::Relaxed);
        Ok(())
    }

    /// Reads events, each time at the next replica, until all are read. Returns their ids.
    fn follow(&self, way: Way, start: String) -> Vec<String> {
        let (http, streams) = (HttpClient::new(REQUEST_TIMEOUT), HttpClient::new(STREAM_TIME));
        let mut reader = Reader { ids: Vec::new(), cursor: start };
        let mut end = None;
        for number in 0.. {
            let url = &self.urls[number % self.urls.len()];
            let before = reader.ids.len();
            // A replica that is away, or a stream that ends, loses nothing.
            let result = match way {
                Way::Pages => reader.read_page(&http, &format!("{url}/v1/events?limit=500"), &self.token),
                Way::Waiting => reader.read_page(&http, &format!("{url}/v1/events?wait=2"), &self.token),
                Way::Stream => reader.read_stream(&streams, &format!("{url}/v1/events/stream"), self),
            };
            if let Some(stored) = self.stored.get() {
                let end = *end.get_or_insert_with(|| Instant::now() + READING_TIMEOUT);
                if reader.ids.len() >= *stored || Instant::now() >= end {
                    break;
                }
            }
            if result.is_err() || (matches!(way, Way::Pages) && reader.ids.len() == before) {
                thread::sleep(Duration::from_millis(50));
            }
        }
        reader.ids
    }
}

/// A reader: the ids that it received, and where it goes on.
struct Reader {
    ids: Vec<String>,
    cursor: String,
}

impl Reader {
    fn read_page(&mut self, http: &HttpClient, url: &str, token: &str) -> Result<()> {
        let url = format!("{url}&after={}", self.cursor);
        let page = http.send("GET", &url, Some(token), &Body::Empty)?;
        ensure!(page.status == 200, "{url} returned {}", page.status);
        let events = page.json["events"].as_array().context("a page without events")?;
        self.ids.extend(events.iter().filter_map(|event| event["id"].as_str()).map(str::to_owned));
        page.json["cursor"].as_str().context("a page without cursor")?.clone_into(&mut self.cursor);
        Ok(())
    }

    /// Follows a stream until it ends or all events are read.
    fn read_stream(&mut self, http: &HttpClient, url: &str, market: &Market) -> Result<()> {
        for event in http.events(url, &market.token, Some(&self.cursor))? {
            let event = event?;
            self.ids.push(event.data["id"].as_str().context("an event without id")?.to_owned());
            self.cursor = event.id;
            if market.stored.get().is_some_and(|stored| self.ids.len() >= *stored) {
                return Ok(());
            }
        }
        bail!("the stream ended")
    }
}
