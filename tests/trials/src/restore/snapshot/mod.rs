//! Objects of every kind that exist before the backup, and the responses that show them.

mod seed;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use stack::http::{Body, HttpClient, Response};

use super::deployment::Deployment;

/// The organisation that owns the objects.
pub const OWNER: &str = "org-known";
/// An organisation that has access to some of them.
const PARTNER: &str = "haul";
const TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a response body in an error message.
const MAX_SHOWN: usize = 600;

/// The recorded responses and writes.
pub struct Snapshot {
    http: HttpClient,
    reads: Vec<Read>,
    writes: Vec<KeyedWrite>,
    /// Ids of notifications that were delivered before the backup.
    pub delivered: Vec<String>,
    /// Ids of notifications that were pending at the backup.
    pub pending: Vec<String>,
    /// Ids of active listings.
    pub active_listings: Vec<String>,
}

/// A GET request and its response.
struct Read {
    service: usize,
    path: String,
    org: Option<&'static str>,
    result: ReadResult,
}

/// The parts of a response that a restore must not change.
#[derive(Default, PartialEq)]
struct ReadResult {
    status: u16,
    /// `X-Total-Count`.
    total: String,
    /// Empty for an error, which contains the id of its request.
    body: Vec<u8>,
}

/// A write with an idempotency key, and the id in its response.
struct KeyedWrite {
    service: usize,
    path: &'static str,
    body: Body,
    key: String,
    id: String,
}

impl Snapshot {
    /// Creates the objects and records the responses.
    pub fn create(deployment: &Deployment<'_>) -> Result<Self> {
        let mut snapshot = Self {
            http: HttpClient::new(TIMEOUT),
            reads: Vec::new(),
            writes: Vec::new(),
            delivered: Vec::new(),
            pending: Vec::new(),
            active_listings: Vec::new(),
        };
        snapshot.seed(deployment)?;
        Ok(snapshot)
    }

    /// Compares all responses with the recorded ones, byte by byte. Returns their number.
    pub fn compare(&self, deployment: &Deployment<'_>) -> Result<usize> {
        for read in &self.reads {
            let result = self.read(deployment, read.service, &read.path, read.org)?;
            let (path, before, after) = (&read.path, read.result.describe(), result.describe());
            ensure!(read.result == result, "GET {path} returned {before} and now returns {after}");
        }
        Ok(self.reads.len())
    }

    /// Repeats all writes under their keys: they must be replayed. Returns their number.
    pub fn replay(&self, deployment: &Deployment<'_>) -> Result<usize> {
        for KeyedWrite { service, path, body, key, id } in &self.writes {
            let response = self.post(deployment, *service, path, body, key)?;
            let Response { status, json, .. } = &response;
            let is_replayed = response.header("idempotency-replayed") == "true" && json["id"] == id.as_str();
            ensure!(is_replayed, "{path} with {key} returned {status} {json} instead of {id} again");
        }
        Ok(self.writes.len())
    }

    /// Creates an object with a key and returns its id.
    fn write(
        &mut self,
        deployment: &Deployment<'_>,
        service: usize,
        path: &'static str,
        body: Body,
    ) -> Result<String> {
        let key = format!("key-{}", self.writes.len());
        let json = self.post(deployment, service, path, &body, &key)?.json;
        let id = json["id"].as_str().with_context(|| format!("{path} returned {json}"))?.to_owned();
        self.writes.push(KeyedWrite { service, path, body, key, id: id.clone() });
        Ok(id)
    }

    fn post(
        &self,
        deployment: &Deployment<'_>,
        service: usize,
        path: &str,
        body: &Body,
        key: &str,
    ) -> Result<Response> {
        let (url, token) = (deployment.services[service].url(path), deployment.token(Some(OWNER)));
        self.http.send_with("POST", &url, Some(&token), &[("idempotency-key", key)], body)
    }

    /// Records the response to a GET request.
    fn record(
        &mut self,
        deployment: &Deployment<'_>,
        service: usize,
        path: impl Into<String>,
        org: Option<&'static str>,
    ) -> Result<()> {
        let path = path.into();
        let result = self.read(deployment, service, &path, org)?;
        self.reads.push(Read { service, path, org, result });
        Ok(())
    }

    fn read(
        &self,
        deployment: &Deployment<'_>,
        service: usize,
        path: &str,
        org: Option<&str>,
    ) -> Result<ReadResult> {
        let (url, token) = (deployment.services[service].url(path), deployment.token(org));
        let response = self.http.send("GET", &url, Some(&token), &Body::Empty)?;
        let total = response.header("x-total-count").to_owned();
        let body = if response.status < 300 { response.bytes } else { Vec::new() };
        Ok(ReadResult { status: response.status, total, body })
    }
}

impl ReadResult {
    fn describe(&self) -> String {
        let body = String::from_utf8_lossy(&self.body[..self.body.len().min(MAX_SHOWN)]);
        format!("{} {} {body}", self.status, self.total)
    }
}
