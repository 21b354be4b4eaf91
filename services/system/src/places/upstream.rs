//! Calls to providers over the network: bounded in time and size, and silent about their keys.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use common::{Error, redacted_json_error, traces};
use metrics::Counter;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::credential::Credential;
use crate::metrics::provider_calls;

/// Begins the message of a 503.
pub(super) const ADDRESSES: &str = "The address provider";
/// Likewise.
pub(super) const WORDS: &str = "The three-word provider";

/// The most bytes of an answer.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// Where the key of a provider goes.
pub(super) enum KeyIn {
    Header(&'static str),
    Query(&'static str),
}

/// An outside provider.
pub(super) struct Upstream {
    http: reqwest::Client,
    base: Url,
    key: Option<(KeyIn, Credential)>,
    who: &'static str,
    answered: Counter,
    failed: Counter,
    /// The last call went well.
    well: AtomicBool,
}

impl Upstream {
    pub(super) fn new(
        who: &'static str,
        base: Url,
        key: Option<(KeyIn, Credential)>,
        timeout: Duration,
    ) -> anyhow::Result<Self> {
        let provider = if who == WORDS { "words" } else { "addresses" };
        let calls = |outcome| provider_calls(provider, outcome);
        let (answered, failed) = (calls("answered"), calls("failed"));
        let http = common::http::client(timeout)?;
        Ok(Self { http, base, key, who, answered, failed, well: AtomicBool::new(true) })
    }

    /// What `read` makes of the answer to GET; whatever goes wrong is a 503, and logged without a
    /// word of the provider's, which may repeat the key or what was asked.
    pub(super) async fn get<T>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        read: impl FnOnce(Reply) -> anyhow::Result<T>,
    ) -> Result<T, Error> {
        let key = self.key.as_ref().map(|(place, credential)| (place, credential.current()));
        let answer = self.send(path, query, key.as_ref()).await.and_then(read);
        self.well.store(answer.is_ok(), Ordering::Relaxed);
        if answer.is_ok() { &self.answered } else { &self.failed }.increment(1);
        answer.map_err(|cause| Error::Unavailable(cause, self.who))
    }

    /// Whether the last call went well.
    pub(super) fn is_well(&self) -> bool {
        self.well.load(Ordering::Relaxed)
    }

    async fn send(
        &self,
        path: &str,
        query: &[(&str, &str)],
        key: Option<&(&KeyIn, SecretString)>,
    ) -> anyhow::Result<Reply> {
        let mut url = self.base.clone();
        url.path_segments_mut().map_err(|()| anyhow!("not a base"))?.pop_if_empty().extend(path.split('/'));
        url.query_pairs_mut().extend_pairs(query);
        let mut headers = HeaderMap::new();
        match key {
            Some((KeyIn::Header(name), key)) => {
                let mut value: HeaderValue =
                    key.expose_secret().parse().context("the key is no header value")?;
                value.set_sensitive(true);
                headers.insert(*name, value);
            }
            Some((KeyIn::Query(name), key)) => {
                url.query_pairs_mut().append_pair(name, key.expose_secret());
            }
            None => {}
        }
        let ask = async || {
            let mut span = traces::http_client_span("GET", &url);
            let answered = self.http.get(url.clone()).headers(headers.clone()).send().await;
            traces::record_response(&mut span, answered.as_ref().ok().map(reqwest::Response::status));
            answered
        };
        let response = match ask().await {
            // Nothing was asked yet, so asking costs nothing twice; who has waited in vain has waited enough.
            Err(error) if error.is_connect() && !error.is_timeout() => ask().await,
            asked => asked,
        };
        Reply::read(response.map_err(reqwest::Error::without_url)?).await
    }
}

/// An answer, whatever its status.
pub(super) struct Reply {
    pub status: StatusCode,
    body: Vec<u8>,
}

impl Reply {
    async fn read(mut response: reqwest::Response) -> anyhow::Result<Self> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            ensure!(
                body.len() + chunk.len() <= MAX_RESPONSE_BYTES,
                "the answer has more than {MAX_RESPONSE_BYTES} bytes"
            );
            body.extend_from_slice(&chunk);
        }
        Ok(Self { status: response.status(), body })
    }

    /// The JSON of a success.
    pub(super) fn success<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        ensure!(self.status.is_success(), "it answered {}", self.status);
        self.json()
    }

    /// The JSON of any answer.
    pub(super) fn json<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        let documented = || {
            let mut value = serde_json::from_slice(&self.body)?;
            clean(&mut value);
            serde_json::from_value(value)
        };
        documented().map_err(|error| redacted_json_error(&error))
    }
}

/// A member without a value is one that is not there; texts have no blanks around them.
fn clean(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(clean);
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::String(text) => *text = text.trim().to_owned(),
        _ => {}
    }
}
