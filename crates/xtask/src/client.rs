//! A small blocking HTTP client that hands every answer back, errors too.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use ureq::http::{HeaderMap, Request};

use crate::multipart::Form;

/// More than any sample file, and than all loads of a benchmark.
const BODY_MAX: u64 = 1024 * 1024 * 1024;

/// So many threads may share a client, each with a connection that stays open.
pub const AT_ONCE: usize = 16;

/// What is sent.
#[derive(Debug)]
pub enum Body {
    /// Nothing.
    Empty,
    /// JSON.
    Json(Value),
    /// A form with a file.
    Form(Form),
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The reason phrase that goes with it.
    pub reason: &'static str,
    /// Response headers.
    pub headers: HeaderMap,
    /// The body, whole.
    pub bytes: Vec<u8>,
    /// The body as JSON, `null` if it is none.
    pub json: Value,
}

impl Answer {
    /// The cursor in the link to what comes after a page; none after the last.
    pub fn cursor(&self) -> Option<&str> {
        self.header("link").split("cursor=").nth(1)?.split(['>', '&']).next()
    }

    /// A header as text, empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Keeps connections open between calls.
#[derive(Debug)]
pub struct Client(ureq::Agent);

impl Client {
    /// A client that waits so long for a whole answer.
    pub fn new(timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(timeout))
            .max_redirects(0)
            .proxy(None) // the services are on this machine
            .max_idle_connections(AT_ONCE)
            .max_idle_connections_per_host(AT_ONCE)
            .build();
        Self(config.into())
    }

    /// Sends a request. Any status is an answer; an error means that there was none.
    pub fn send(&self, method: &str, url: &str, token: Option<&str>, body: &Body) -> Result<Answer> {
        self.send_with(method, url, token, &[], body)
    }

    /// The same with headers more.
    pub fn send_with(
        &self,
        method: &str,
        url: &str,
        token: Option<&str>,
        headers: &[(&str, &str)],
        body: &Body,
    ) -> Result<Answer> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let sent = match body {
            Body::Empty => self.0.run(request.body(())?),
            Body::Json(json) => {
                self.0.run(request.header("content-type", "application/json").body(json.to_string())?)
            }
            Body::Form(form) => {
                self.0.run(request.header("content-type", Form::content_type()).body(form.encode())?)
            }
        };
        let mut response = sent.with_context(|| format!("no answer from {url}"))?;
        let bytes = response
            .body_mut()
            .with_config()
            .limit(BODY_MAX)
            .read_to_vec()
            .with_context(|| format!("the answer from {url} broke off"))?;
        Ok(Answer {
            status: response.status().as_u16(),
            reason: response.status().canonical_reason().unwrap_or_default(),
            headers: response.headers().clone(),
            json: serde_json::from_slice(&bytes).unwrap_or_default(),
            bytes,
        })
    }
}
