//! Where notifications go: to a webhook, or into the log where none is configured.

use std::error::Error as _;
use std::time::Duration;

use anyhow::{Context, ensure};
use common::traces;
use database::Timestamp;
use reqwest::StatusCode;
use url::{Host, Url};

use super::claim::store::Claimed;
use super::sign::Secrets;
use super::ssrf::{PublicResolver, is_public};
use crate::Settings;

/// An answer of so many bytes is read, so that its connection can be used again; what is longer is broken off.
const MAX_BODY_BYTES: u64 = 16 << 10;
/// And waited for no longer.
const MAX_BODY_WAIT: Duration = Duration::from_millis(500);

/// Where notifications go.
pub enum Channel {
    /// A line each.
    Log,
    /// Somebody's address.
    Webhook(Box<Webhook>),
}

/// A receiver of webhooks.
pub struct Webhook {
    http: reqwest::Client,
    url: Url,
    secrets: Secrets,
}

impl Channel {
    /// As the settings say.
    ///
    /// # Errors
    /// What to change: no secrets, an address that is private or not encrypted.
    pub fn open(settings: &Settings) -> anyhow::Result<Self> {
        let Some(url) = settings.webhook_url.clone() else { return Ok(Self::Log) };
        let secrets = Secrets::read(&settings.webhook_secrets)?;
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
                "service.webhook_url is an address of a private network: set service.webhook_allow_private if it is meant"
            );
            http = http.dns_resolver(PublicResolver);
        }
        let http = http.build().context("no client for webhooks")?;
        Ok(Self::Webhook(Box::new(Webhook { http, url, secrets })))
    }

    /// Delivers once.
    ///
    /// # Errors
    /// Why the receiver has not taken it, in a few words.
    pub async fn deliver(&self, claimed: &Claimed) -> Result<(), String> {
        let Self::Webhook(webhook) = self else {
            // To whom, its log of deliveries says: lines are kept by others than may know that.
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
            .header("webhook-signature", self.secrets.sign(id, timestamp, &body));
        let mut span = traces::call("POST", &self.url);
        let answered = request.body(body).send().await;
        traces::called(&mut span, answered.as_ref().ok().map(reqwest::Response::status));
        let response = answered.map_err(reason)?;
        let status = response.status();
        if response.content_length().is_some_and(|length| length <= MAX_BODY_BYTES) {
            let _ = tokio::time::timeout(MAX_BODY_WAIT, response.bytes()).await;
        }
        if status.is_success() { Ok(()) } else { Err(refusal(status)) }
    }
}

fn refusal(status: StatusCode) -> String {
    let redirect = if status.is_redirection() { " (redirects are not followed)" } else { "" };
    format!("the receiver answered {}{redirect}", status.as_u16())
}

/// Without the address, which may have a password in it.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause = error.source();
    let mut told = error.to_string();
    while let Some(error) = cause {
        told = format!("{told}: {error}");
        cause = error.source();
    }
    told.chars().take(300).collect()
}

impl Settings {
    /// How long a receiver has for its answer.
    pub(super) fn webhook_timeout(&self) -> Duration {
        Duration::from_millis(self.webhook_timeout_ms)
    }
}
