//! Light, constant load from a few threads while something is broken and mended, and what came of every request.

pub mod receiver;
pub mod site;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::client::{Answer, Body, Client};
use crate::trial::Trial;

/// Nobody waits longer: this is what a hang looks like.
const HANG: Duration = Duration::from_secs(40);
/// Between two requests of a thread.
const PAUSE: Duration = Duration::from_millis(25);
/// So many answers in a row must be good before all is well again.
const ENOUGH: usize = 8;

/// A request.
#[derive(Debug)]
pub struct Request {
    /// HTTP method.
    pub method: &'static str,
    /// Address.
    pub url: String,
    /// Bearer token.
    pub token: Option<String>,
    /// What is sent.
    pub body: Body,
    /// What a write is found again by.
    pub mark: Option<String>,
    /// The idempotency key.
    pub key: Option<String>,
}

/// What a thread does again and again: the request with a number, and whether an answer with success is right.
pub struct Work {
    /// What it is called in reports.
    pub name: &'static str,
    /// Makes the request.
    pub ask: Box<dyn Fn(usize) -> Request + Send + Sync>,
    /// Looks at an answer below 300.
    pub right: Box<dyn Fn(&Answer) -> bool + Send + Sync>,
    /// Statuses that are as good as success and no sign of anything, besides.
    pub also: &'static [u16],
    /// Does not depend on what is broken: no failure is allowed.
    pub apart: bool,
    /// An answer that was begun may break off.
    pub breaks: bool,
}

/// How a request went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As it should: what the answer is found by (`id` or the like).
    Good(u16, String),
    /// 503 `dependency_unavailable` (docs/api/errors.md).
    Refused,
    /// 503 that says that nobody knows.
    Doubt,
    /// Anything else: it must not be.
    Wrong(String),
}

/// A request and how it went.
#[derive(Debug, Clone)]
pub struct Event {
    /// The work it belongs to, by its number.
    pub work: usize,
    /// When it was begun.
    pub began: Instant,
    /// When it ended.
    pub ended: Instant,
    /// How it went.
    pub outcome: Outcome,
    /// What it would be found by.
    pub mark: Option<String>,
    /// Its number.
    pub number: usize,
}

/// A name for what is written in a while, never used before.
pub fn new_run() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    format!("R{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Threads at work.
pub struct Load {
    works: Arc<Vec<Work>>,
    events: Arc<Mutex<Vec<Event>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// A thread for each work.
    pub fn start(works: Vec<Work>) -> Self {
        let (works, events, stop) = (Arc::new(works), Arc::<Mutex<Vec<Event>>>::default(), Arc::default());
        let threads = (0..works.len()).map(|work| {
            let (works, events, stop) = (works.clone(), events.clone(), Arc::<AtomicBool>::clone(&stop));
            thread::spawn(move || {
                let client = Client::new(HANG);
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let event = works[work].event(work, number, &client);
                    lock(&events).push(event);
                    sleep(PAUSE);
                }
            })
        });
        let threads = threads.collect();
        Self { works, events, stop, threads }
    }

    /// Waits until every work had a row of good answers that were asked for since then. Fails after so long.
    pub fn wait_well(&self, trial: &Trial<'_>, since: Instant, limit: Duration) -> Result<()> {
        loop {
            trial.check()?;
            let events = lock(&self.events).clone();
            let well = |work: usize| {
                let own = events.iter().rev().filter(|event| event.work == work && event.began >= since);
                own.take_while(|event| matches!(event.outcome, Outcome::Good(..))).count() >= ENOUGH
            };
            let Some(ill) = (0..self.works.len()).find(|work| !well(*work)) else { return Ok(()) };
            if since.elapsed() > limit {
                let last = events.iter().rev().find(|event| event.work == ill);
                let name = self.works[ill].name;
                bail!(
                    "{name} is not well {limit:?} after all was mended: {:?}",
                    last.map(|last| &last.outcome)
                );
            }
            sleep(PAUSE);
        }
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }

    /// Ends all threads.
    pub fn finish(mut self) -> Events {
        self.end();
        Events { all: std::mem::take(&mut lock(&self.events)), works: self.works.clone() }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Work {
    fn event(&self, work: usize, number: usize, client: &Client) -> Event {
        let request = (self.ask)(number);
        let began = Instant::now();
        let outcome = self.outcome(&request, client);
        Event { work, began, ended: Instant::now(), outcome, mark: request.mark, number }
    }

    /// Sends a request and judges the answer.
    fn outcome(&self, request: &Request, client: &Client) -> Outcome {
        let Request { method, url, token, body, key, .. } = request;
        let headers: Vec<_> = key.iter().map(|key| ("idempotency-key", key.as_str())).collect();
        let answer = match client.send_with(method, url, token.as_deref(), &headers, body) {
            Ok(answer) => answer,
            Err(error) if self.breaks && error.to_string().contains("broke off") => return Outcome::Refused,
            Err(error) => return Outcome::Wrong(format!("{error:#}")),
        };
        let good = || {
            let id = answer.json["id"].as_str().or(answer.json["body"]["id"].as_str()).unwrap_or_default();
            Outcome::Good(answer.status, id.to_owned())
        };
        let told = || Outcome::Wrong(format!("{} {}", answer.status, String::from_utf8_lossy(&answer.bytes)));
        match answer.status {
            200..300 if (self.right)(&answer) => good(),
            status if self.also.contains(&status) => good(),
            503 if answer.json["code"] == "dependency_unavailable"
                && answer.header("retry-after").parse::<u8>().is_ok() =>
            {
                if answer.json["body"]["outcome"] == "unknown" { Outcome::Doubt } else { Outcome::Refused }
            }
            _ => told(),
        }
    }
}

/// All that happened.
pub struct Events {
    all: Vec<Event>,
    works: Arc<Vec<Work>>,
}

impl Events {
    /// The writes at a service.
    pub fn writes_to(&self, base: &str) -> impl Iterator<Item = &Event> {
        let there = move |event: &&Event| (self.works[event.work].ask)(0).url.starts_with(base);
        self.all.iter().filter(|event| event.mark.is_some()).filter(there)
    }

    /// The longest that anybody waited for one of these.
    pub fn slowest_of(&self, names: &[&str]) -> Duration {
        let own = self.all.iter().filter(|event| names.contains(&self.works[event.work].name));
        own.map(|event| event.ended - event.began).max().unwrap_or_default()
    }

    /// Sends those again of which nobody knows; the key makes sure that each happens once.
    pub fn settle(&mut self) -> Result<usize> {
        let (works, client) = (self.works.clone(), Client::new(HANG));
        let mut settled = 0;
        for event in self.all.iter_mut().filter(|event| event.outcome == Outcome::Doubt) {
            let work = &works[event.work];
            let request = (work.ask)(event.number);
            if request.key.is_some() {
                match work.outcome(&request, &client) {
                    good @ Outcome::Good(..) => event.outcome = good,
                    other => bail!("{}: repeating what was in doubt: {other:?}", work.name),
                }
                settled += 1;
            }
        }
        Ok(settled)
    }

    /// The first few that must not have been.
    pub fn wrong(&self) -> Vec<String> {
        let apart = |event: &Event| {
            self.works[event.work].apart && !matches!(event.outcome, Outcome::Good(..) | Outcome::Wrong(_))
        };
        let wrong = self.all.iter().filter_map(|event| match &event.outcome {
            Outcome::Wrong(told) => Some(format!("{}: {told}", self.works[event.work].name)),
            other if apart(event) => Some(format!("{}: {other:?}", self.works[event.work].name)),
            _ => None,
        });
        wrong.collect()
    }

    /// How many of each kind.
    pub fn counts(&self) -> String {
        let mut counts = BTreeMap::<String, usize>::new();
        for event in &self.all {
            let kind = match &event.outcome {
                Outcome::Good(503, _) => "readyz 503".into(),
                Outcome::Good(status, _) => status.to_string(),
                Outcome::Refused => "503".into(),
                Outcome::Doubt => "503 in doubt".into(),
                Outcome::Wrong(_) => "wrong".into(),
            };
            *counts.entry(kind).or_default() += 1;
        }
        counts.iter().map(|(kind, count)| format!("{kind}: {count}")).collect::<Vec<_>>().join(", ")
    }

    /// How long a refusal usually takes (the median) of those asked for after the first: by then a breaker is open.
    pub fn usual_refusal(&self) -> Option<Duration> {
        let refused = || self.all.iter().filter(|event| event.outcome == Outcome::Refused);
        let first = refused().map(|event| event.ended).min()?;
        let later = refused().filter(|event| event.began >= first);
        let mut times: Vec<_> = later.map(|event| event.ended - event.began).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }

    /// Those that were not answered as they should, each with its work.
    pub fn failed(&self) -> Vec<(&Event, &Work)> {
        let failed = self.all.iter().filter(|event| !matches!(event.outcome, Outcome::Good(..)));
        failed.map(|event| (event, &self.works[event.work])).collect()
    }

    /// How many were under way at some time from one moment to another.
    pub fn under_way(&self, from: Instant, to: Instant) -> usize {
        self.all.iter().filter(|event| event.began <= to && event.ended >= from).count()
    }

    /// How many were refused.
    pub fn refused(&self) -> usize {
        self.all.iter().filter(|event| matches!(event.outcome, Outcome::Refused | Outcome::Doubt)).count()
    }

    /// The longest that anybody waited.
    pub fn slowest(&self) -> (Duration, &'static str) {
        let each = self.all.iter().map(|event| (event.ended - event.began, self.works[event.work].name));
        each.max().unwrap_or_default()
    }

    /// How long after this the first good answer came that was asked for later, and the last that was not good.
    pub fn recovery(&self, since: Instant) -> (Duration, Duration) {
        let good = |event: &&Event| matches!(event.outcome, Outcome::Good(..));
        let first = |work: usize| {
            let own = self.all.iter().filter(|event| event.work == work && event.ended >= since);
            own.filter(good).map(|event| event.ended - since).min().unwrap_or_default()
        };
        let bad = self.all.iter().filter(|event| !good(event) && event.ended >= since);
        let last = bad.map(|event| event.ended - since).max().unwrap_or_default();
        ((0..self.works.len()).map(first).min().unwrap_or_default(), last)
    }
}
