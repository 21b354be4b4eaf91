//! The HTTP client of deliveries.

use std::error::Error as _;
use std::time::Duration;

use anyhow::Context;
use common::traces;
use database::{Id, Timestamp};
use reqwest::StatusCode;
use url::Url;

use super::sign::SigningKeys;
use super::ssrf::PublicResolver;

/// Longest response body, in bytes, that is read, so that the connection can be used again. A longer one closes it.
const MAX_BODY_BYTES: u64 = 16 << 10;
/// Time within which the response body must arrive. Otherwise the connection is closed.
const BODY_TIMEOUT: Duration = Duration::from_millis(500);

/// Posts messages to receivers. It follows no redirects and uses no proxy.
pub struct Sender {
    http: reqwest::Client,
}

impl Sender {
    /// Creates a sender. `timeout` limits a whole exchange. Unless `allow_private` is true, names that have no public
    /// address are not reached.
    ///
    /// # Errors
    /// If the client cannot be built.
    pub fn new(timeout: Duration, allow_private: bool) -> anyhow::Result<Self> {
        let mut http = common::http::builder(timeout).no_proxy();
        if !allow_private {
            http = http.dns_resolver(PublicResolver);
        }
        Ok(Self { http: http.build().context("cannot create the HTTP client for webhooks")? })
    }

    /// Attempts one delivery of a message with this id and JSON body.
    ///
    /// # Errors
    /// If the receiver did not acknowledge it. The text is the reason, up to 300 characters.
    pub async fn post(&self, url: &Url, keys: &SigningKeys, id: Id, body: String) -> Result<(), String> {
        let (id, timestamp) = (id.to_string(), Timestamp::now().millis() / 1000);
        let request = self
            .http
            .post(url.clone())
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", keys.sign(&id, timestamp, &body));
        let mut span = traces::http_client_span("POST", url);
        let result = request.body(body).send().await;
        traces::record_response(&mut span, result.as_ref().ok().map(reqwest::Response::status));
        let response = result.map_err(reason)?;
        let status = response.status();
        if response.content_length().is_some_and(|length| length <= MAX_BODY_BYTES) {
            let _ = tokio::time::timeout(BODY_TIMEOUT, response.bytes()).await;
        }
        if status.is_success() { Ok(()) } else { Err(rejection(status)) }
    }
}

fn rejection(status: StatusCode) -> String {
    let redirect = if status.is_redirection() { " (redirects are not followed)" } else { "" };
    format!("the receiver answered {}{redirect}", status.as_u16())
}

/// Returns the causes of an error without its URL, which may contain a password.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause = error.source();
    let mut reason = error.to_string();
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    reason.chars().take(300).collect()
}
