//! One repeated request of the generated traffic, and how its responses are judged.

use stack::http::{Body, HttpClient, Response};

use crate::ledger::WriteState;

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
