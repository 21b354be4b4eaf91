//! The operation `POST /v1/files/resolve` of the system service, with timeouts, retries, limits for each tenant, a
//! circuit breaker and a limit on the size of responses.

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use database::Id;
use parking_lot::Mutex;
use reqwest::{Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Url;

use super::breaker::{AfterFailure, Breaker};
use super::model::FileInfo;
use crate::config::values::without_credentials;
use crate::telemetry::context::{REQUEST_ID, TRACEPARENT};
use crate::{TenantLimits, redacted_json_error, traces};

/// Timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of a probe of `/healthz`.
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);
/// Maximum number of concurrent calls of one tenant.
const MAX_TENANT_CALLS: usize = 4;
/// Maximum size of a response in bytes. Information on 50 files that are each shared with 200 organisations is smaller.
const MAX_RESPONSE_BYTES: usize = 16 << 20;
/// Responses with more bytes than this are read a few at a time, so that all of them together take little memory.
const LARGE_RESPONSE_BYTES: usize = 256 << 10;
/// Maximum number of large responses that are read at once.
const MAX_LARGE_RESPONSES: usize = 4;
/// The name of the system service in its index.
const SYSTEM_NAME: &str = "Drover system";
/// Maximum number of bytes that are read of an error response or of the index.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Calls the system service.
pub(super) struct SystemApi {
    pub(super) http: reqwest::Client,
    /// The base URL of the system service, without a slash at the end.
    pub(super) base: String,
    index: Url,
    resolve: Url,
    health: Url,
    breaker: Breaker,
    /// The breaker of calls about public resources.
    pub(super) public_breaker: Breaker,
    /// The time until which the system service limits calls about public resources.
    pub(super) busy_until: Mutex<Option<Instant>>,
    large_responses: Semaphore,
    pub(super) tenant_calls: TenantLimits,
}

/// The caller on whose behalf a call is made.
pub(super) struct OnBehalfOf<'a> {
    pub(super) token: &'a SecretString,
    /// Limits and failures are counted for each tenant.
    pub(super) tenant: &'a str,
    pub(super) request_id: &'a str,
    pub(super) traceparent: Option<String>,
}

/// The reason why a call has no result.
#[derive(Debug)]
pub(super) enum CallError {
    /// The token has expired, and no call was made.
    TokenExpired,
    /// The system service refused the call.
    Refused(StatusCode),
    /// Nothing was shared, because these files are shared with too many organisations already.
    NoRoom(Vec<Id>),
    /// There is no response, or none that can be used.
    Unavailable(anyhow::Error),
}

/// The result of one attempt.
enum Attempt {
    Completed(Result<Vec<FileInfo>, CallError>),
    /// The system service works, but its response cannot be used.
    Unusable(anyhow::Error),
    Failed(anyhow::Error),
}

impl SystemApi {
    /// Creates a client of the system service at this base URL.
    ///
    /// # Errors
    /// Fails if the URL is invalid. The message names the setting.
    pub(super) fn new(system_url: &str) -> anyhow::Result<Self> {
        let base = system_url.trim_end_matches('/');
        let parsed: Url =
            base.parse().context("service.system_url is not a URL such as http://system:8081")?;
        anyhow::ensure!(parsed.has_host(), "service.system_url names no host");
        Ok(Self {
            http: crate::http::client(ATTEMPT_TIMEOUT)?,
            base: base.to_owned(),
            index: format!("{base}/").parse()?,
            public_breaker: Breaker::without_metrics(),
            busy_until: Mutex::default(),
            resolve: format!("{base}/v1/files/resolve").parse()?,
            health: format!("{base}/healthz").parse()?,
            breaker: Breaker::new(),
            large_responses: Semaphore::new(MAX_LARGE_RESPONSES),
            tenant_calls: TenantLimits::new(MAX_TENANT_CALLS),
        })
    }

    /// Returns true if the system service answers a probe within [`PROBE_TIMEOUT`].
    pub(super) async fn is_reachable(&self) -> bool {
        let probe = self.http.get(self.health.clone()).timeout(PROBE_TIMEOUT).send();
        probe.await.is_ok_and(|response| response.status().is_success())
    }

    /// Asks the program at the base URL for its name. Returns the URL, for people.
    ///
    /// # Errors
    /// Fails if there is no response, or if another program answers.
    pub(super) async fn check(&self) -> anyhow::Result<String> {
        let response = self.http.get(self.index.clone()).send().await.and_then(Response::error_for_status);
        let url = without_credentials(self.index.clone());
        let failed = |error| crate::http::failure(error, &self.index).context(format!("cannot call {url}"));
        let mut response = response.map_err(failed)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)?
            && bytes.len() < MAX_ERROR_BYTES
        {
            bytes.extend_from_slice(&chunk);
        }
        let index: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        anyhow::ensure!(index["name"] == SYSTEM_NAME, "the program at {url} is not {SYSTEM_NAME}");
        Ok(url.to_string())
    }

    /// Returns how long the circuit breaker stays open, or `None` if calls are possible.
    pub(super) fn blocked_for(&self) -> Option<Duration> {
        self.breaker.open_for()
    }

    /// Calls the operation, with up to this number of attempts.
    pub(super) async fn call(
        &self,
        by: &OnBehalfOf<'_>,
        body: &Value,
        attempts: u32,
    ) -> Result<Vec<FileInfo>, CallError> {
        let Some(_tenant_permit) = self.tenant_calls.acquire(by.tenant, ATTEMPT_TIMEOUT).await else {
            return Err(CallError::Unavailable(anyhow!("too many concurrent calls of one tenant")));
        };
        let mut last_error = anyhow!("the circuit breaker is open");
        for attempt in 0..attempts {
            let Some(permit) = self.breaker.permit(by.tenant) else { break };
            match self.attempt(by, body).await {
                Attempt::Completed(result) => {
                    permit.success();
                    return result;
                }
                Attempt::Unusable(error) => {
                    permit.unusable();
                    return Err(CallError::Unavailable(error));
                }
                Attempt::Failed(error) => last_error = error,
            }
            if permit.failure() == AfterFailure::Probe {
                self.breaker.probed(self.is_reachable().await);
            }
            if attempt + 1 < attempts {
                let backoff = Duration::from_millis(rand::random_range(50..150) << attempt);
                tokio::time::sleep(backoff).await;
            }
        }
        Err(CallError::Unavailable(last_error))
    }

    async fn attempt(&self, by: &OnBehalfOf<'_>, body: &Value) -> Attempt {
        let mut span = traces::http_client_span("POST", &self.resolve);
        let mut request = self
            .http
            .post(self.resolve.clone())
            .bearer_auth(by.token.expose_secret())
            .header(REQUEST_ID.as_str(), by.request_id)
            .json(body);
        if let Some(parent) = span.as_ref().map(traces::traceparent).or_else(|| by.traceparent.clone()) {
            request = request.header(TRACEPARENT.as_str(), parent);
        }
        let sent = request.send().await;
        traces::record_response(&mut span, sent.as_ref().ok().map(Response::status));
        match sent {
            Ok(response) => self.read(response).await,
            Err(error) => Attempt::Failed(error.into()),
        }
    }

    async fn read(&self, mut response: Response) -> Attempt {
        match response.status() {
            StatusCode::OK => {}
            StatusCode::BAD_REQUEST => return Attempt::Completed(Err(read_bad_request(response).await)),
            status if status.is_server_error() => return Attempt::Failed(anyhow!("{status}")),
            status => return Attempt::Completed(Err(CallError::Refused(status))),
        }
        let (mut bytes, mut large_permit) = (Vec::new(), None);
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => return Attempt::Failed(error.into()),
            };
            let length = bytes.len() + chunk.len();
            if length > MAX_RESPONSE_BYTES {
                return Attempt::Unusable(anyhow!("the response has more than {MAX_RESPONSE_BYTES} bytes"));
            }
            if length > LARGE_RESPONSE_BYTES && large_permit.is_none() {
                match timeout(ATTEMPT_TIMEOUT, self.large_responses.acquire()).await {
                    Ok(Ok(permit)) => large_permit = Some(permit),
                    _ => return Attempt::Unusable(anyhow!("too many large responses at once")),
                }
            }
            bytes.extend_from_slice(&chunk);
        }
        match serde_json::from_slice(&bytes) {
            Ok(infos) => Attempt::Completed(Ok(infos)),
            Err(error) => Attempt::Failed(redacted_json_error(&error)),
        }
    }
}

/// Reads the error of a 400. Its validation entries name the files without room in `data.ids`.
async fn read_bad_request(mut response: Response) -> CallError {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        if bytes.len() + chunk.len() > MAX_ERROR_BYTES {
            break;
        }
        bytes.extend_from_slice(&chunk);
    }
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let entries = body["validation"].as_array().into_iter().flatten();
    let ids = entries.filter_map(|entry| entry["data"]["ids"].as_array()).flatten();
    let ids: Vec<_> = ids.filter_map(|id| Id::parse(id.as_str()?)).collect();
    if ids.is_empty() { CallError::Refused(StatusCode::BAD_REQUEST) } else { CallError::NoRoom(ids) }
}
