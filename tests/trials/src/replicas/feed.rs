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
pub enum Way {
    Pages,
    Waiting,
    Stream,
}

/// All of them.
pub const WAYS: [Way; 3] = [Way::Pages, Way::Waiting, Way::Stream];

/// Writes and reads at all replicas, and kills one meanwhile.
pub fn run(deployment: &mut Deployment<'_>) -> Result<()> {
    let trial = deployment.trial;
    let events_of_writer = if trial.short { 1_000 } else { 25_000 };
    let market = Market {
        feed: Feed::new(deployment, ORG),
        loads: Mutex::default(),
        acknowledged: AtomicUsize::new(0),
    };
    let start = market.feed.cursor_at_end()?;
    let begun = Instant::now();
    let (stored, received) = thread::scope(|scope| {
        let market = &market;
        let readers = WAYS.map(|way| {
            let start = start.clone();
            scope.spawn(move || market.feed.follow(way, start, |event, _| text(&event["id"])))
        });
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || market.write(writer, events_of_writer))).collect();
        let killed = kill_one(deployment);
        let written = writers.into_iter().map(join).collect::<Result<Vec<()>>>();
        let stored = stored_events(deployment).unwrap_or_default();
        // Readers end when they have so many events, also after a failure.
        market.feed.total.get_or_init(|| stored.len());
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
    feed: Feed,
    /// Ids of the imported loads.
    loads: Mutex<Vec<String>>,
    /// Events of acknowledged writes.
    acknowledged: AtomicUsize,
}

impl Market {
    /// Imports loads and changes loads of all writers until it has written so many events. A replica may be away.
    fn write(&self, writer: usize, events: usize) -> Result<()> {
        let (http, mut random) = (HttpClient::new(REQUEST_TIMEOUT), Random::of(writer));
        let (mut written, mut failed) = (0, 0);
        for number in 0.. {
            if written >= events {
                break;
            }
            ensure!(failed <= IMPORTED, "writer {writer}: {failed} requests failed");
            let Feed { urls, token, .. } = &self.feed;
            let replica = &urls[(writer + number) % urls.len()];
            let send = |method: &str, path: &str, body| {
                http.send(method, &format!("{replica}{path}"), Some(token), &body)
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
}

/// The feed of an organisation at all replicas, which readers follow while it is written.
pub struct Feed {
    /// Addresses of the replicas.
    pub urls: Vec<String>,
    /// Token of the organisation.
    pub token: String,
    /// The number of all events, when they are written.
    pub total: OnceLock<usize>,
}

impl Feed {
    /// The feed of an organisation.
    pub fn new(deployment: &Deployment<'_>, org: &str) -> Self {
        let urls = deployment.replicas("logistics").iter().map(|replica| replica.url("")).collect();
        Self { urls, token: deployment.token(Some(org)), total: OnceLock::new() }
    }

    /// The cursor after all events so far.
    pub fn cursor_at_end(&self) -> Result<String> {
        let url = format!("{}/v1/events?after=now", self.urls[0]);
        let http = HttpClient::new(REQUEST_TIMEOUT);
        let response = http.send("GET", &url, Some(&self.token), &Body::Empty)?;
        Ok(response.json["cursor"].as_str().context("no cursor")?.to_owned())
    }

    /// Reads events, each time at the next replica, until all are read. `keep` gets each event, and its cursor if the
    /// reader learned it.
    pub fn follow<T>(&self, way: Way, start: String, keep: impl Fn(&Value, Option<&str>) -> T) -> Vec<T> {
        let (http, streams) = (HttpClient::new(REQUEST_TIMEOUT), HttpClient::new(STREAM_TIME));
        let mut reader = Reader { feed: self, kept: Vec::new(), cursor: start, keep };
        let mut end = None;
        for number in 0.. {
            let url = &self.urls[number % self.urls.len()];
            let before = reader.kept.len();
            // A replica that is away, or a stream that ends, loses nothing.
            let result = match way {
                Way::Pages => reader.read_page(&http, &format!("{url}/v1/events?limit=500")),
                Way::Waiting => reader.read_page(&http, &format!("{url}/v1/events?wait=2")),
                Way::Stream => reader.read_stream(&streams, &format!("{url}/v1/events/stream")),
            };
            if let Some(total) = self.total.get() {
                let end = *end.get_or_insert_with(|| Instant::now() + READING_TIMEOUT);
                if reader.kept.len() >= *total || Instant::now() >= end {
                    break;
                }
            }
            if result.is_err() || (matches!(way, Way::Pages) && reader.kept.len() == before) {
                thread::sleep(Duration::from_millis(50));
            }
        }
        reader.kept
    }
}

/// A reader: what it kept of the events, and where it goes on.
struct Reader<'a, T, F> {
    feed: &'a Feed,
    kept: Vec<T>,
    cursor: String,
    keep: F,
}

impl<T, F: Fn(&Value, Option<&str>) -> T> Reader<'_, T, F> {
    fn read_page(&mut self, http: &HttpClient, url: &str) -> Result<()> {
        let url = format!("{url}&after={}", self.cursor);
        let page = http.send("GET", &url, Some(&self.feed.token), &Body::Empty)?;
        ensure!(page.status == 200, "{url} returned {}", page.status);
        page.json["cursor"].as_str().context("a page without cursor")?.clone_into(&mut self.cursor);
        let events = page.json["events"].as_array().context("a page without events")?;
        // The cursor of a page is that after its last event.
        let cursor = |n: usize| (n + 1 == events.len()).then_some(&*self.cursor);
        self.kept.extend(events.iter().enumerate().map(|(n, event)| (self.keep)(event, cursor(n))));
        Ok(())
    }

    /// Follows a stream until it ends or all events are read.
    fn read_stream(&mut self, http: &HttpClient, url: &str) -> Result<()> {
        for event in http.events(url, &self.feed.token, Some(&self.cursor))? {
            let event = event?;
            self.kept.push((self.keep)(&event.data, Some(&event.id)));
            self.cursor = event.id;
            if self.feed.total.get().is_some_and(|total| self.kept.len() >= *total) {
                return Ok(());
            }
        }
        bail!("the stream ended")
    }
}

/// A text of an event, empty if it has none.
pub fn text(member: &Value) -> String {
    member.as_str().unwrap_or_default().to_owned()
}
