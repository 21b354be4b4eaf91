//! What clients send, and what they may conclude from what they hear.

use std::io::ErrorKind;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::client::{Answer, Body, Client};

/// How long a service may take to answer, and how long one that was killed is waited for.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The services, by their place among the addresses.
pub const SYSTEM: usize = 0;
pub const LOGISTICS: usize = 1;
pub const LIVESTOCK: usize = 2;

/// Who asks, by their place among the tokens: the organisation whose everything is, another, an administrator.
pub const OWN: usize = 0;
pub const OTHER: usize = 1;
pub const ADMIN: usize = 2;
/// The ids of the two organisations.
pub const ORGANISATIONS: [&str; 2] = ["org-0", "org-1"];

/// What a client knows of something that it sent.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// It is acknowledged, under this id.
    Done(String),
    /// The connection broke off, or a 503 says that nobody knows: it is there, or it is not.
    Doubt,
    /// It was refused, or found not to be there: so it has to stay.
    Not,
}

impl State {
    /// The id under which it is there.
    pub fn id(&self) -> Option<&str> {
        if let Self::Done(id) = self { Some(id) } else { None }
    }
}

/// A write: under which key it was sent, and what is known of it.
#[derive(Debug)]
pub struct Attempt {
    pub key: Option<String>,
    pub state: State,
}

/// A request, to be sent again with every byte the same.
#[derive(Debug)]
pub struct Request<'a> {
    pub service: usize,
    pub method: &'static str,
    pub path: String,
    pub who: usize,
    pub key: Option<&'a str>,
    pub body: Body,
}

impl<'a> Request<'a> {
    /// A POST of the organisation whose everything is.
    pub fn post(service: usize, path: impl Into<String>, key: Option<&'a str>, body: Body) -> Self {
        Self { service, method: "POST", path: path.into(), who: OWN, key, body }
    }
}

/// Where the services are, and who asks.
#[derive(Debug, Clone)]
pub struct Addresses {
    pub urls: [String; 3],
    pub tokens: [String; 3],
}

/// A client's connections.
#[derive(Debug)]
pub struct Line<'a> {
    addresses: &'a Addresses,
    client: Client,
}

impl<'a> Line<'a> {
    pub fn new(addresses: &'a Addresses) -> Self {
        Self { addresses, client: Client::new(PATIENCE) }
    }

    /// Sends a request and says what came of it, with the answer's body; nothing if nobody was there to take it.
    ///
    /// # Errors
    /// For an answer that is neither success nor 503.
    pub fn attempt(&mut self, request: &Request<'_>) -> Result<Option<(State, Value)>> {
        match self.send(request) {
            Ok(answer) if answer.status < 300 => {
                let id = answer.json["id"].as_str().unwrap_or_default().to_owned();
                Ok(Some((State::Done(id), answer.json)))
            }
            Ok(answer) if answer.status == 503 => {
                let unknown = answer.json["body"]["outcome"] == "unknown";
                Ok(Some((if unknown { State::Doubt } else { State::Not }, Value::Null)))
            }
            Ok(answer) => bail!(
                "{} {} answered {}: {}",
                request.method,
                request.path,
                answer.status,
                String::from_utf8_lossy(&answer.bytes)
            ),
            Err(error) => {
                // The old connections lead to a process that is no more.
                self.client = Client::new(PATIENCE);
                if is_refused(&error) {
                    sleep(Duration::from_millis(2));
                    return Ok(None);
                }
                Ok(Some((State::Doubt, Value::Null)))
            }
        }
    }

    /// Sends a request until it is answered with anything but 503.
    pub fn insist(&mut self, request: &Request<'_>) -> Result<Answer> {
        let begun = Instant::now();
        loop {
            match self.send(request) {
                Ok(answer) if answer.status != 503 => return Ok(answer),
                other if begun.elapsed() > PATIENCE => {
                    bail!("{} {} has no answer: {other:?}", request.method, request.path)
                }
                _ => sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Asks for something that is there.
    pub fn get(&self, service: usize, path: &str, who: usize) -> Result<Answer> {
        let url = format!("{}{path}", self.addresses.urls[service]);
        let answer = self.client.send("GET", &url, Some(&self.addresses.tokens[who]), &Body::Empty)?;
        if answer.status >= 300 {
            bail!("GET {path} answered {}: {}", answer.status, answer.json);
        }
        Ok(answer)
    }

    /// A number in an answer's header `X-Total-Count`.
    pub fn count(&self, service: usize, path: &str, who: usize) -> Result<usize> {
        Ok(self.get(service, path, who)?.header("x-total-count").parse()?)
    }

    /// The rows of a CSV answer without its header. Quotes stand only around lists: no cell has a comma, a quote or a
    /// line break, so they are left out.
    pub fn rows(&self, service: usize, path: &str, who: usize) -> Result<Vec<String>> {
        let text = String::from_utf8(self.get(service, path, who)?.bytes)?;
        Ok(text.split_terminator("\r\n").skip(1).map(|row| row.replace('"', "")).collect())
    }

    /// Sends a request.
    pub fn send(&self, request: &Request<'_>) -> Result<Answer> {
        let url = format!("{}{}", self.addresses.urls[request.service], request.path);
        let token = Some(self.addresses.tokens[request.who].as_str());
        let key = request.key.map(|key| ("idempotency-key", key));
        self.client.send_with(request.method, &url, token, key.as_slice(), &request.body)
    }
}

/// Nobody listened: the request was never sent.
fn is_refused(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| match cause.downcast_ref() {
        Some(ureq::Error::Io(error)) => error.kind() == ErrorKind::ConnectionRefused,
        _ => false,
    })
}
