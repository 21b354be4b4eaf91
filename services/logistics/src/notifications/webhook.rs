//! Delivery channels of notifications: the configured webhook, or the log without one.

use std::error::Error as _;
use std::time::Duration;

use anyhow::{Context, ensure};
use common::traces;
use database::Timestamp;
use reqwest::StatusCode;
use url::{Host, Url};

use super::model::Claimed;
use super::sign::SigningKeys;
use super::ssrf::{PublicResolver, is_public};
use crate::Settings;

/// Longest response body, in bytes, that is read, so that the connection can be used again. A longer one closes it.
const MAX_BODY_BYTES: u64 = 16 << 10;
/// Time within which the response body must arrive. Otherwise the connection is closed.
const BODY_TIMEOUT: Duration = Duration::from_millis(500);

/// A delivery channel.
pub(crate) enum Channel {
    /// Writes a log line for each notification.
    Log,
    /// Posts each notification to a URL.
    Webhook(Box<Webhook>),
}

/// A receiver of webhooks.
pub(crate) struct Webhook {
    http: reqwest::Client,
    url: Url,
    keys: SigningKeys,
}

impl Channel {
    /// Opens the channel that the settings describe.
    ///
    /// # Errors
    /// If the webhook has no secrets, or its URL is private or unencrypted and the settings do not allow that.
    pub(crate) fn open(settings: &Settings) -> anyhow::Result<Self> {
        let Some(url) = settings.webhook_url.clone() else { return Ok(Self::Log) };
        let keys = SigningKeys::parse(&settings.webhook_secrets)?;
        let mut http = common::http::builder(settings.webhook_timeout()).no_proxy();
        if settings.webhook_allow_private {
            ensure!(
                matches!(url.scheme(), "https" | "http"),
                "service.webhook_url must be https:// or http://"
            );
        } else {
            ensure!(
                url.scheme() == "https",
                "service.webhook_url must be https:// (http:// only with service.webhook_allow_private)"
            );
            let literal = match url.host() {
                Some(Host::Ipv4(address)) => Some(address.into()),
                Some(Host::Ipv6(address)) => Some(address.into()),
                _ => None,
            };
            ensure!(
                literal.is_none_or(is_public),
                "service.webhook_url is an address of a private network: set service.webhook_allow_private to allow it"
            );
            http = http.dns_resolver(PublicResolver);
        }
        let http = http.build().context("cannot create the HTTP client for webhooks")?;
        Ok(Self::Webhook(Box::new(Webhook { http, url, keys })))
    }

    /// Attempts one delivery.
    ///
    /// # Errors
    /// If the receiver did not acknowledge it. The text is the reason, up to 300 characters.
    pub(crate) async fn deliver(&self, claimed: &Claimed) -> Result<(), String> {
        let Self::Webhook(webhook) = self else {
            // Without the recipient, which readers of the log may not be allowed to know. The delivery log has it.
            let Claimed { id, load_id, event, .. } = claimed;
            tracing::info!(notification = %id, load = %load_id, event, "notification");
            return Ok(());
        };
        webhook.post(&claimed.id.to_string(), claimed.body.0.clone()).await
    }
}

impl Webhook {
    async fn post(&self, id: &str, body: String) -> Result<(), String> {
        let timestamp = Timestamp::now().millis() / 1000;
        let request = self
            .http
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", self.keys.sign(id, timestamp, &body));
        let mut span = traces::http_client_span("POST", &self.url);
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
