//! Public resources of the system service. They have a circuit breaker of their own, because system may depend on slow
//! providers for them, which must not stop calls about files.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::breaker::AfterFailure;
use super::client::SystemClient;
use super::resolve::SystemApi;
use crate::auth::Caller;
use crate::telemetry::context::{REQUEST_ID, TRACEPARENT};
use crate::{redacted_json_error, traces};

/// Timeout of one call. A request that stores a listing waits for two of them.
const CALL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a call waits until fewer calls of the tenant run.
const TENANT_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum size of a response in bytes.
const MAX_BYTES: usize = 64 << 10;
/// How long background work makes no calls after a 429 without a valid `Retry-After`.
const DEFAULT_BUSY_TIME: Duration = Duration::from_secs(1);
/// The longest time for which background work makes no calls after a 429.
const MAX_BUSY_TIME: Duration = Duration::from_secs(30);

/// On whose behalf a public resource is read.
#[derive(Clone, Debug)]
pub struct PublicCall {
    /// Limits and failures are counted for each tenant.
    pub(super) tenant: String,
    pub(super) request_id: String,
    pub(super) traceparent: Option<String>,
}

impl PublicCall {
    /// A call for a request.
    pub fn of(caller: &Caller) -> Self {
        let request = &caller.request;
        Self {
            tenant: caller.tenant(),
            request_id: request.id.clone(),
            traceparent: Some(request.traceparent()),
        }
    }

    /// A call of background work. `name` identifies the work among the tenants, `id` the work's item in logs.
    pub fn background(name: &str, id: &str) -> Self {
        Self { tenant: name.to_owned(), request_id: id.to_owned(), traceparent: None }
    }
}

/// The response to a call.
enum Reply {
    /// `None` if there is no such resource.
    Resource(Option<Value>),
    /// 429: this address has made too many calls, for whichever tenants. The time until the next one is admitted.
    Busy(Duration),
}

impl SystemClient {
    /// Reads a public resource of the system service. Makes one attempt. Returns `None` if there is no such resource.
    ///
    /// # Errors
    /// Fails if the system service is unavailable or limits the calls of this address.
    pub(super) async fn get(
        &self,
        by: &PublicCall,
        path: &str,
        query: &[(&str, &str)],
    ) -> anyhow::Result<Option<Value>> {
        self.api().get(by, path, query).await
    }

    /// Returns how long background work cannot read public resources, or `None` if calls are possible. Calls for
    /// requests are also made while the system service limits the calls of this address: some of them succeed.
    pub(super) fn reads_blocked_for(&self) -> Option<Duration> {
        let api = self.api();
        let busy_for = api.busy_until.lock().map(|until| until.saturating_duration_since(Instant::now()));
        let busy_for = busy_for.filter(|left| !left.is_zero());
        api.blocked_for().max(api.public_breaker.open_for()).max(busy_for)
    }
}

impl SystemApi {
    async fn get(
        &self,
        by: &PublicCall,
        path: &str,
        query: &[(&str, &str)],
    ) -> anyhow::Result<Option<Value>> {
        let Some(_tenant_permit) = self.tenant_calls.acquire(&by.tenant, TENANT_TIMEOUT).await else {
            return Err(anyhow!("too many concurrent calls of one tenant"));
        };
        let url = self.url(path, query)?;
        let permit = self.public_breaker.permit(&by.tenant).filter(|_| self.blocked_for().is_none());
        let permit = permit.ok_or_else(|| anyhow!("the circuit breaker is open"))?;
        match self.attempt_get(by, &url).await {
            Ok(Reply::Resource(resource)) => {
                permit.success();
                Ok(resource)
            }
            Ok(Reply::Busy(wait)) => {
                // The service works. The breaker would stop the calls that it admits.
                permit.success();
                *self.busy_until.lock() = Some(Instant::now() + wait);
                Err(anyhow!("the system service limits the calls of this address"))
            }
            Err(error) => {
                if permit.failure() == AfterFailure::Probe {
                    self.public_breaker.probed(self.is_reachable().await);
                }
                Err(error)
            }
        }
    }

    fn url(&self, path: &str, query: &[(&str, &str)]) -> anyhow::Result<Url> {
        Ok(Url::parse_with_params(&format!("{}{path}", self.base), query)?)
    }

    /// Makes one call. Errors do not contain the query, which may have personal data.
    async fn attempt_get(&self, by: &PublicCall, url: &Url) -> anyhow::Result<Reply> {
        let mut span = traces::http_client_span("GET", url);
        let mut request = self
            .http
            .get(url.clone())
            .timeout(CALL_TIMEOUT)
            .header(REQUEST_ID.as_str(), by.request_id.as_str());
        if let Some(parent) = span.as_ref().map(traces::traceparent).or_else(|| by.traceparent.clone()) {
            request = request.header(TRACEPARENT.as_str(), parent);
        }
        let sent = request.send().await;
        traces::record_response(&mut span, sent.as_ref().ok().map(Response::status));
        let failed = |error| crate::http::failure(error, url);
        let mut response = sent.map_err(failed)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND => return Ok(Reply::Resource(None)),
            StatusCode::TOO_MANY_REQUESTS => return Ok(Reply::Busy(retry_after(response.headers()))),
            status => return Err(anyhow!("{status}")),
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if bytes.len() + chunk.len() > MAX_BYTES {
                return Err(anyhow!("the response has more than {MAX_BYTES} bytes"));
            }
            bytes.extend_from_slice(&chunk);
        }
        let resource = serde_json::from_slice(&bytes).map_err(|error| redacted_json_error(&error))?;
        Ok(Reply::Resource(Some(resource)))
    }
}

/// Returns the time of the header `Retry-After` of a 429.
fn retry_after(headers: &HeaderMap) -> Duration {
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    seconds.map_or(DEFAULT_BUSY_TIME, Duration::from_secs).min(MAX_BUSY_TIME)
}
