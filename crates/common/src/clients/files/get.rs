//! Public resources of the system service. They have a circuit breaker of their own, because system may depend on slow
//! providers for them, which must not stop calls about files.

use std::time::Duration;

use anyhow::anyhow;
use reqwest::{Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::breaker::AfterFailure;
use super::client::FileClient;
use super::resolver::Resolver;
use crate::auth::Caller;
use crate::telemetry::context::{REQUEST_ID, TRACEPARENT};
use crate::{redacted_json_error, traces};

/// Timeout of one call. A request that stores a listing waits for two of them.
const CALL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a call waits until fewer calls of the tenant run.
const TENANT_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum size of a response in bytes.
const MAX_BYTES: usize = 64 << 10;

/// On whose behalf a public resource is read.
#[derive(Clone, Debug)]
pub struct PublicCall {
    /// Limits and failures are counted for each tenant.
    pub(in crate::clients) tenant: String,
    pub(in crate::clients) request_id: String,
    pub(in crate::clients) traceparent: Option<String>,
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

impl FileClient {
    /// Reads a public resource of the system service. Makes one attempt. Returns `None` if there is no such resource.
    ///
    /// # Errors
    /// Fails if the system service is unavailable.
    pub(in crate::clients) async fn get(
        &self,
        by: &PublicCall,
        path: &str,
        query: &[(&str, &str)],
    ) -> anyhow::Result<Option<Value>> {
        self.resolver().get(by, path, query).await
    }

    /// Returns how long no public resource can be read, or `None` if calls are possible.
    pub(in crate::clients) fn reads_blocked_for(&self) -> Option<Duration> {
        let resolver = self.resolver();
        resolver.blocked_for().max(resolver.public_breaker.open_for())
    }
}

impl Resolver {
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
        let result = self.attempt_get(by, url).await;
        match &result {
            Ok(_) => permit.success(),
            Err(_) => {
                if permit.failure() == AfterFailure::Probe {
                    self.public_breaker.probed(self.is_reachable().await);
                }
            }
        }
        result
    }

    fn url(&self, path: &str, query: &[(&str, &str)]) -> anyhow::Result<Url> {
        Ok(Url::parse_with_params(&format!("{}{path}", self.base), query)?)
    }

    async fn attempt_get(&self, by: &PublicCall, url: Url) -> anyhow::Result<Option<Value>> {
        let mut span = traces::http_client_span("GET", &url);
        let mut request =
            self.http.get(url).timeout(CALL_TIMEOUT).header(REQUEST_ID.as_str(), by.request_id.as_str());
        if let Some(parent) = span.as_ref().map(traces::traceparent).or_else(|| by.traceparent.clone()) {
            request = request.header(TRACEPARENT.as_str(), parent);
        }
        let sent = request.send().await;
        traces::record_response(&mut span, sent.as_ref().ok().map(Response::status));
        let mut response = sent?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND => return Ok(None),
            status => return Err(anyhow!("{status}")),
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if bytes.len() + chunk.len() > MAX_BYTES {
                return Err(anyhow!("the response has more than {MAX_BYTES} bytes"));
            }
            bytes.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&bytes).map(Some).map_err(|error| redacted_json_error(&error))
    }
}
