//! The HTTP client of the trial: sends requests while services are killed, judges what the responses prove, and repeats
//! writes under their idempotency keys. A stored write must be replayed, and another one must be executed.

use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use testkit::processes::http::{Body, HttpClient, Response};
use testkit::processes::trial::Trial;

use crate::ledger::{Ledger, WriteState};

/// Timeout of a response, and of repeats until a service that was killed responds again.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Indexes of the services in [`Endpoints::urls`] and [`testkit::processes::checkout::SERVICES`].
pub const SYSTEM: usize = 0;
pub const LOGISTICS: usize = 1;
pub const LIVESTOCK: usize = 2;

/// Who sends a request: an index in [`Endpoints::tokens`].
#[derive(Debug, Clone, Copy)]
pub enum Caller {
    Owner,
    Partner,
    Admin,
}

/// URLs of the services, and tokens for each [`Caller`].
#[derive(Debug, Clone)]
pub struct Endpoints {
    pub urls: [String; 3],
    pub tokens: [String; 3],
    /// Dates the writes, if something advances it.
    pub clock: Arc<AtomicUsize>,
}

/// What a response proves of a write.
#[derive(Debug)]
pub struct Answer {
    pub state: WriteState,
    /// Times of the request and of the response by [`Endpoints::clock`].
    pub span: Range<usize>,
    /// The response, if the write was acknowledged.
    pub json: Value,
}

/// A request that can be repeated byte by byte.
#[derive(Debug)]
pub struct Request<'a> {
    pub service: usize,
    pub method: &'static str,
    pub path: String,
    pub caller: Caller,
    pub key: Option<&'a str>,
    pub body: Body,
}

impl<'a> Request<'a> {
    /// A POST request of the owner.
    pub fn post(service: usize, path: impl Into<String>, key: Option<&'a str>, body: Body) -> Self {
        Self { service, method: "POST", path: path.into(), caller: Caller::Owner, key, body }
    }
}

/// Connections of one client.
#[derive(Debug)]
pub struct Client<'a> {
    trial: &'a Trial<'a>,
    endpoints: &'a Endpoints,
    http: HttpClient,
}

impl<'a> Client<'a> {
    pub fn new(trial: &'a Trial<'a>, endpoints: &'a Endpoints) -> Self {
        Self { trial, endpoints, http: HttpClient::new(TIMEOUT) }
    }

    /// Sends a write once. Returns `None` if the connection was refused.
    ///
    /// # Errors
    /// The response is neither a success nor 503.
    pub fn try_write(&mut self, request: &Request<'_>) -> Result<Option<Answer>> {
        let clock = || self.endpoints.clock.load(Ordering::SeqCst);
        let sent = clock();
        let response = self.send(request);
        let span = sent..clock();
        let without_json = |state| Ok(Some(Answer { state, span: span.clone(), json: Value::Null }));
        match response {
            Ok(response) if response.status < 300 => {
                let id = response.json["id"].as_str().unwrap_or_default().to_owned();
                Ok(Some(Answer { state: WriteState::Acknowledged(id), span, json: response.json }))
            }
            Ok(response) if response.status == 503 => {
                let is_unknown = response.json["body"]["outcome"] == "unknown";
                without_json(if is_unknown { WriteState::Unknown } else { WriteState::Refused })
            }
            Ok(Response { status, bytes, .. }) => {
                let Request { method, path, .. } = request;
                bail!("{method} {path} returned {status}: {}", String::from_utf8_lossy(&bytes))
            }
            Err(error) => {
                // The other connections lead to the killed process, too.
                self.http = HttpClient::new(TIMEOUT);
                if is_connection_refused(&error) {
                    sleep(Duration::from_millis(2));
                    return Ok(None);
                }
                without_json(WriteState::Unknown)
            }
        }
    }

    /// Sends a request until the response is not 503.
    pub fn send_until_answered(&self, request: &Request<'_>) -> Result<Response> {
        let description = format!("a response to {} {}", request.method, request.path);
        let mut response = None;
        self.trial.wait_for(&description, TIMEOUT, || {
            response = self.send(request).ok().filter(|response| response.status != 503);
            Ok(response.is_some())
        })?;
        response.context(description)
    }

    /// Sends a request once. No status is an error.
    pub fn send(&self, request: &Request<'_>) -> Result<Response> {
        let url = format!("{}{}", self.endpoints.urls[request.service], request.path);
        let token = Some(self.endpoints.tokens[request.caller as usize].as_str());
        let key = request.key.map(|key| ("idempotency-key", key));
        self.http.send_with(request.method, &url, token, key.as_slice(), &request.body)
    }

    /// Reads something that exists.
    pub fn get(&self, service: usize, path: &str, caller: Caller) -> Result<Response> {
        let path = path.to_owned();
        let request = Request { service, method: "GET", path, caller, key: None, body: Body::Empty };
        let response = self.send(&request)?;
        let Response { status, json, .. } = &response;
        ensure!(*status < 300, "GET {} returned {status}: {json}", request.path);
        Ok(response)
    }

    /// Reads a JSON array.
    pub fn array(&self, service: usize, path: &str, caller: Caller) -> Result<Vec<Value>> {
        match self.get(service, path, caller)?.json {
            Value::Array(values) => Ok(values),
            json => bail!("GET {path} returned no array: {json}"),
        }
    }

    /// Number of rows of a search, by `X-Total-Count`.
    pub fn count(&self, service: usize, path: &str, caller: Caller) -> Result<usize> {
        Ok(self.get(service, path, caller)?.header("x-total-count").parse()?)
    }

    /// The rows of an export without the header. Only lists are quoted, and no cell contains a comma, a quote or a
    /// line break, so the quotes are removed.
    pub fn csv_rows(&self, service: usize, path: &str, caller: Caller) -> Result<Vec<String>> {
        let csv = String::from_utf8(self.get(service, path, caller)?.bytes)?;
        Ok(csv.split_terminator("\r\n").skip(1).map(|row| row.replace('"', "")).collect())
    }
}

/// Whether the request was never sent, because nothing listened.
fn is_connection_refused(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| match cause.downcast_ref() {
        Some(ureq::Error::Io(error)) => error.kind() == ErrorKind::ConnectionRefused,
        _ => false,
    })
}

/// Whether an acknowledged write with this marker is repeated: one in ten is.
pub fn is_repeated(marker: &str) -> bool {
    marker.ends_with('7')
}

/// Repeats a request that has a key, if the outcome of the write is unknown or `is_repeated`. Returns the response.
///
/// `stored` is the id under which the write is stored, empty if the response has no id.
pub fn repeat(
    client: &Client<'_>,
    request: &Request<'_>,
    state: &WriteState,
    stored: Option<&str>,
    is_repeated: bool,
    ledger: &mut Ledger,
) -> Result<Option<Value>> {
    let is_due = *state == WriteState::Unknown || (is_repeated && state.id().is_some());
    if request.key.is_none() || !is_due {
        return Ok(None);
    }
    let response = client.send_until_answered(request)?;
    let (status, json) = (response.status, &response.json);
    let write = format!("{} {} with key {:?}", request.method, request.path, request.key);
    ledger.check_content(status == 200, || format!("{write} returned {status}: {json}"));
    match (stored, response.header("idempotency-replayed") == "true") {
        (Some(_), false) => ledger.duplicated(&format!("{write} was executed again")),
        (None, true) => ledger.lost(&format!("{write} was replayed but is not stored")),
        _ => {}
    }
    if let Some(id) = stored.filter(|id| !id.is_empty() && json["id"] != **id) {
        ledger.duplicated(&format!("{write} is stored as {id} but returned {}", json["id"]));
    }
    Ok(Some(response.json))
}

/// Repeats a write like [`repeat`] and replaces an unknown outcome: it is acknowledged under the id of the response or
/// of the stored object, or refused if there is neither.
pub fn settle(
    client: &Client<'_>,
    request: &Request<'_>,
    state: &WriteState,
    stored: Option<&str>,
    is_repeated: bool,
    ledger: &mut Ledger,
) -> Result<(WriteState, Option<Value>)> {
    let response = repeat(client, request, state, stored, is_repeated, ledger)?;
    let settled = if *state == WriteState::Unknown {
        let id = response.as_ref().and_then(|response| response["id"].as_str()).or(stored);
        id.map_or(WriteState::Refused, |id| WriteState::Acknowledged(id.to_owned()))
    } else {
        state.clone()
    };
    Ok((settled, response))
}
