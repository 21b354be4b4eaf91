//! The outcomes of all requests of the generated traffic.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use stack::http::HttpClient;

use super::{Outcome, REQUEST_TIMEOUT, Workload};
use crate::ledger::WriteState;

/// A request and its outcome.
#[derive(Clone)]
pub struct Record {
    /// Its workload.
    pub workload: Arc<Workload>,
    /// Number within its workload.
    pub number: usize,
    /// Time before it was sent.
    pub started: Instant,
    /// Time of its response.
    pub ended: Instant,
    /// Its outcome.
    pub outcome: Outcome,
    /// Marker of a write.
    pub marker: Option<String>,
}

impl Record {
    /// Sends the request with a number.
    pub(super) fn make(workload: &Arc<Workload>, number: usize, http: &HttpClient) -> Self {
        let request = workload.request(number);
        let started = Instant::now();
        let outcome = workload.send(&request, http);
        let (workload, ended) = (workload.clone(), Instant::now());
        Self { workload, number, started, ended, outcome, marker: request.marker }
    }

    fn duration(&self) -> Duration {
        self.ended - self.started
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}: {:?}", self.workload.service, self.workload.name, self.number, self.outcome)
    }
}

/// All requests of a [`Traffic`](super::Traffic) that has stopped.
pub struct Records(pub(super) Vec<Record>);

impl Records {
    /// The writes at a service, by marker.
    pub fn writes(&self, service: &str) -> impl Iterator<Item = (&str, WriteState)> {
        let writes = self.0.iter().filter(move |record| record.workload.service == service);
        writes.filter_map(|record| Some((record.marker.as_deref()?, record.outcome.write_state())))
    }

    /// Repeats each write with a key and an unknown outcome, which must succeed. Returns the number of them.
    pub fn resolve_unknown(&mut self) -> Result<usize> {
        let (http, mut resolved) = (HttpClient::new(REQUEST_TIMEOUT), 0);
        for record in self.0.iter_mut().filter(|record| record.outcome == Outcome::Unknown) {
            if record.workload.request(record.number).key.is_some() {
                record.outcome = Record::make(&record.workload, record.number, &http).outcome;
                ensure!(record.outcome.is_success(), "repeated under its key: {record}");
                resolved += 1;
            }
        }
        Ok(resolved)
    }

    /// All requests without success.
    pub fn failures(&self) -> impl Iterator<Item = &Record> {
        self.0.iter().filter(|record| !record.outcome.is_success())
    }

    /// Failures without excuse: wrong outcomes, and those of unaffected workloads.
    pub fn unexpected(&self) -> impl Iterator<Item = &Record> {
        let is_wrong = |record: &Record| matches!(record.outcome, Outcome::Wrong(_));
        self.failures().filter(move |record| is_wrong(record) || record.workload.unaffected)
    }

    /// Number of responses of each kind.
    pub fn summary(&self) -> String {
        let mut counts = BTreeMap::<String, usize>::new();
        for record in &self.0 {
            let kind = match &record.outcome {
                Outcome::Success { status: 503, .. } => "readyz 503".into(),
                Outcome::Success { status, .. } => status.to_string(),
                Outcome::Refused => "503".into(),
                Outcome::Unknown => "503 unknown".into(),
                Outcome::Wrong(_) => "wrong".into(),
            };
            *counts.entry(kind).or_default() += 1;
        }
        counts.iter().map(|(kind, count)| format!("{kind}: {count}")).collect::<Vec<_>>().join(", ")
    }

    /// Median duration of the refusals of requests that were sent after the first refusal: a circuit breaker is open
    /// by then.
    pub fn median_refusal(&self) -> Option<Duration> {
        let refused = || self.0.iter().filter(|record| record.outcome == Outcome::Refused);
        let first = refused().map(|record| record.ended).min()?;
        let later = refused().filter(|record| record.started >= first);
        let mut durations: Vec<_> = later.map(Record::duration).collect();
        durations.sort_unstable();
        durations.get(durations.len() / 2).copied()
    }

    /// Number of requests in flight at some time between two moments.
    pub fn in_flight(&self, from: Instant, to: Instant) -> usize {
        self.0.iter().filter(|record| record.started <= to && record.ended >= from).count()
    }

    /// The longest duration, with the service and the name of its workload.
    pub fn slowest(&self) -> (Duration, String) {
        let slowest = self.0.iter().max_by_key(|record| record.duration());
        let name = |record: &Record| format!("{} {}", record.workload.service, record.workload.name);
        slowest.map(|record| (record.duration(), name(record))).unwrap_or_default()
    }

    /// The longest duration of the workloads with these names.
    pub fn slowest_of(&self, names: &[&str]) -> Duration {
        let own = self.0.iter().filter(|record| names.contains(&record.workload.name));
        own.map(Record::duration).max().unwrap_or_default()
    }

    /// Time from a repair to the response of the last failure, zero without one.
    pub fn last_failure(&self, repaired: Instant) -> Duration {
        let after = self.failures().map(|record| record.ended.saturating_duration_since(repaired));
        after.max().unwrap_or_default()
    }
}
