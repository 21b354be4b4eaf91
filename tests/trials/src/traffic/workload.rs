//! The repeated requests of the generated traffic, how their responses are judged, and the outcomes of all of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use testkit::processes::http::{Body, HttpClient, Response};

use crate::ledger::WriteState;
use crate::traffic::REQUEST_TIMEOUT;

/// A request.
#[derive(Debug)]
pub struct Request {
    /// HTTP method.
    pub method: &'static str,
    /// Whole URL.
    pub url: String,
    /// Bearer token.
    pub token: String,
    /// Body.
    pub body: Body,
    /// Text by which a stored write is found again.
    pub marker: Option<String>,
    /// `Idempotency-Key`.
    pub key: Option<String>,
}

impl Request {
    /// A request without marker and key.
    pub fn new(method: &'static str, url: &str, token: &str, body: Body) -> Self {
        Self { method, url: url.to_owned(), token: token.to_owned(), body, marker: None, key: None }
    }
}

/// The request of one thread of [`Traffic`](super::Traffic), repeated with rising numbers.
pub struct Workload {
    /// Name in reports.
    pub name: &'static str,
    /// Name of the service that is called.
    pub service: &'static str,
    /// It does not depend on what fails: every request must succeed.
    pub unaffected: bool,
    /// Its response is streamed and may be cut off once begun. That counts as refused.
    pub streamed: bool,
    accepted: &'static [u16],
    request: Box<dyn Fn(usize) -> Request + Send + Sync>,
    is_right: Box<dyn Fn(&Response) -> bool + Send + Sync>,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The expected response.
    Success {
        /// HTTP status.
        status: u16,
        /// Id of what was written, empty if the response has none.
        id: String,
    },
    /// 503 `dependency_unavailable` with `Retry-After` (docs/api/errors.md).
    Refused,
    /// The same 503 with `outcome: unknown`.
    Unknown,
    /// Any other response, or none: always a failure of the trial.
    Wrong(String),
}

impl Outcome {
    /// Whether it is a success.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Success { .. })
    }

    /// What the client knows of a write with this outcome.
    pub fn write_state(&self) -> WriteState {
        match self {
            Self::Success { id, .. } => WriteState::Acknowledged(id.clone()),
            Self::Refused => WriteState::Refused,
            Self::Unknown | Self::Wrong(_) => WriteState::Unknown,
        }
    }
}

impl Workload {
    /// A workload of `request` for each number, whose successful responses must satisfy `is_right`.
    pub fn new(
        service: &'static str,
        name: &'static str,
        request: impl Fn(usize) -> Request + Send + Sync + 'static,
        is_right: impl Fn(&Response) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            service,
            unaffected: false,
            streamed: false,
            accepted: &[],
            request: Box::new(request),
            is_right: Box::new(is_right),
        }
    }

    /// Marks it as unaffected by what fails.
    pub fn unaffected(self) -> Self {
        Self { unaffected: true, ..self }
    }

    /// Counts further statuses as success.
    pub fn accept(self, accepted: &'static [u16]) -> Self {
        Self { accepted, ..self }
    }

    /// The request with a number.
    pub fn request(&self, number: usize) -> Request {
        (self.request)(number)
    }

    /// Whether it writes something that is found again by a marker.
    pub fn is_write(&self) -> bool {
        self.request(0).marker.is_some()
    }

    /// Sends a request and judges the response.
    pub fn send(&self, request: &Request, http: &HttpClient) -> Outcome {
        let Request { method, url, token, body, key, .. } = request;
        let key = key.as_deref().map(|key| ("idempotency-key", key));
        let response = match http.send_with(method, url, Some(token), key.as_slice(), body) {
            Ok(response) => response,
            Err(error) if self.streamed && error.to_string().contains("broke off") => {
                return Outcome::Refused;
            }
            Err(error) => return Outcome::Wrong(format!("{error:#}")),
        };
        let Response { status, json, .. } = &response;
        let is_success = (200..300).contains(status) && (self.is_right)(&response);
        if is_success || self.accepted.contains(status) {
            let id = json["id"].as_str().or(json["body"]["id"].as_str()).unwrap_or_default();
            return Outcome::Success { status: *status, id: id.to_owned() };
        }
        let is_retryable = response.header("retry-after").parse::<u8>().is_ok();
        match (*status, json["body"]["outcome"] == "unknown") {
            (503, unknown) if json["code"] == "dependency_unavailable" && is_retryable => {
                if unknown {
                    Outcome::Unknown
                } else {
                    Outcome::Refused
                }
            }
            _ => Outcome::Wrong(format!("{status} {}", String::from_utf8_lossy(&response.bytes))),
        }
    }
}

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
