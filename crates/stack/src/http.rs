//! A small blocking HTTP client that returns every response, whatever its status.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use ureq::http::{HeaderMap, Request};

use crate::multipart::Form;

/// Limit of a response body: more than the largest export of the bench.
const MAX_BODY_BYTES: u64 = 1024 * 1024 * 1024;

/// Idle connections that a client keeps open.
pub const MAX_IDLE_CONNECTIONS: usize = 16;

/// A request body.
#[derive(Debug)]
pub enum Body {
    /// No body.
    Empty,
    /// JSON.
    Json(Value),
    /// A multipart form with a file.
    Form(Form),
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Reason phrase of the status.
    pub reason: &'static str,
    /// Response headers.
    pub headers: HeaderMap,
    /// Body.
    pub bytes: Vec<u8>,
    /// Body as JSON, `null` if it is not JSON.
    pub json: Value,
}

impl Response {
    /// The cursor in the link to the next page.
    pub fn cursor(&self) -> Option<&str> {
        self.header("link").split("cursor=").nth(1)?.split(['>', '&']).next()
    }

    /// A header as text, empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The client. It keeps connections open between requests.
#[derive(Debug)]
pub struct HttpClient(ureq::Agent);

impl HttpClient {
    /// A client with a timeout for a whole response.
    pub fn new(timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(timeout))
            .max_redirects(0)
            .proxy(None) // the services are on this machine
            .max_idle_connections(MAX_IDLE_CONNECTIONS)
            .max_idle_connections_per_host(MAX_IDLE_CONNECTIONS)
            .build();
        Self(config.into())
    }

    /// Sends a request.
    ///
    /// # Errors
    /// No response was received, or it broke off. A status is never an error.
    pub fn send(&self, method: &str, url: &str, token: Option<&str>, body: &Body) -> Result<Response> {
        self.send_with(method, url, token, &[], body)
    }

    /// Sends a request with further headers. A JSON body may have another `content-type`, in lower case.
    pub fn send_with(
        &self,
        method: &str,
        url: &str,
        token: Option<&str>,
        headers: &[(&str, &str)],
        body: &Body,
    ) -> Result<Response> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let has_type = headers.iter().any(|(name, _)| *name == "content-type");
        let sent = match body {
            Body::Json(json) if has_type => self.0.run(request.body(json.to_string())?),
            Body::Empty => self.0.run(request.body(())?),
            Body::Json(json) => {
                self.0.run(request.header("content-type", "application/json").body(json.to_string())?)
            }
            Body::Form(form) => {
                self.0.run(request.header("content-type", Form::content_type()).body(form.encode())?)
            }
        };
        let mut response = sent.with_context(|| format!("no response from {url}"))?;
        let bytes = response
            .body_mut()
            .with_config()
            .limit(MAX_BODY_BYTES)
            .read_to_vec()
            .with_context(|| format!("the response from {url} broke off"))?;
        Ok(Response {
            status: response.status().as_u16(),
            reason: response.status().canonical_reason().unwrap_or_default(),
            headers: response.headers().clone(),
            json: serde_json::from_slice(&bytes).unwrap_or_default(),
            bytes,
        })
    }
}
