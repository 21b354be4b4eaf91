//! The HTTP client: one operation of the system service, with timeouts, retries, a bounded answer and a circuit breaker.

use std::time::Duration;

use anyhow::{Context, anyhow};
use database::Id;
use reqwest::{Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Url;

use super::breaker::{AfterFailure, Breaker};
use super::found::{FileInfo, FoundFiles};
use super::shares::DueShare;
use crate::TenantLimits;
use crate::auth::Caller;
use crate::middleware::context::{REQUEST_ID, TRACEPARENT};
use crate::response::validation::ValidationErrors;
use crate::wire::FileReference;
use crate::{Error, redacted_json_error, traces};

/// Timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);
/// Attempts of a look-up that a request waits for.
const MAX_ATTEMPTS: u32 = 3;
/// Calls of one tenant that run at once.
const MAX_TENANT_CALLS: usize = 4;
/// Files that one call may name.
const MAX_FILES: usize = 50;
/// Bytes of an answer. Information on 50 files that are each shared with 200 organisations stays below it.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// Answers with more bytes than this wait for their turn, so that all of them together take little memory.
const LARGE_ANSWER_BYTES: usize = 256 << 10;
/// Large answers that are read at once.
const MAX_LARGE_ANSWERS: usize = 4;
/// Bytes of a refusal that are read.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// Calls the system service about files.
pub struct FileClient {
    http: reqwest::Client,
    resolve: Url,
    health: Url,
    breaker: Breaker,
    /// Permits to read a large answer.
    large_answers: Semaphore,
    /// Calls of each tenant.
    turns: TenantLimits,
}

/// The caller on whose behalf a call is made.
struct OnBehalfOf<'a> {
    token: &'a SecretString,
    /// ErrorResponses are attributed to the tenant.
    tenant: &'a str,
    request_id: &'a str,
    traceparent: Option<String>,
}

/// Why a call has no result.
#[derive(Debug)]
pub(super) enum CallError {
    /// The system service refused it.
    Refused(StatusCode),
    /// Nothing was shared, because these files are shared with too many organisations already.
    NoRoom(Vec<Id>),
    /// There is no answer, or none of use.
    Unavailable(anyhow::Error),
}

/// The result of one attempt.
enum Attempt {
    Answered(Result<Vec<FileInfo>, CallError>),
    /// The system service answered, but the answer cannot be used.
    Unusable(anyhow::Error),
    Failed(anyhow::Error),
}

impl FileClient {
    /// A client of the system service at this base URL (`service.system_url`).
    ///
    /// # Errors
    /// A sentence on what is wrong with the URL.
    pub fn new(system: &str) -> anyhow::Result<Self> {
        let base = system.trim_end_matches('/');
        let parsed: Url = base.parse().context("service.system_url is no URL, such as http://system:8081")?;
        anyhow::ensure!(parsed.has_host(), "service.system_url names no host");
        Ok(Self {
            http: crate::clients::http::client(ATTEMPT_TIMEOUT)?,
            resolve: format!("{base}/v1/files/resolve").parse()?,
            health: format!("{base}/healthz").parse()?,
            breaker: Breaker::new(),
            large_answers: Semaphore::new(MAX_LARGE_ANSWERS),
            turns: TenantLimits::new(MAX_TENANT_CALLS),
        })
    }

    /// True when the system service answers soon.
    pub async fn is_reachable(&self) -> bool {
        let answer = self.http.get(self.health.clone()).timeout(PROBE_TIMEOUT).send();
        answer.await.is_ok_and(|response| response.status().is_success())
    }

    /// Looks up the files that a request names; shares nothing. Texts that are no ids are not sent; without ids there is no
    /// call.
    ///
    /// # Errors
    /// 503 when the system service cannot be reached, 401 when it refuses the token.
    pub async fn look_up(&self, caller: &Caller, files: &[FileReference]) -> Result<FoundFiles, Error> {
        self.find(caller, files, MAX_ATTEMPTS).await.map_err(|error| match error {
            CallError::Refused(StatusCode::UNAUTHORIZED) => {
                Error::Unauthenticated(Some("the token is not good for files"))
            }
            CallError::Refused(status) => unavailable(anyhow!("resolving files was answered with {status}")),
            CallError::NoRoom(_) => unavailable(anyhow!("looking files up was answered as sharing them")),
            CallError::Unavailable(cause) => unavailable(cause),
        })
    }

    /// Adds an entry for each unknown file to what is wrong with a request already. One attempt; nothing is added while the
    /// system service cannot be reached.
    pub async fn report_unknown(
        &self,
        caller: &Caller,
        files: &[FileReference],
        errors: &mut ValidationErrors,
    ) {
        if let Ok(found) = self.find(caller, files, 1).await {
            found.report_unknown(errors);
        }
    }

    async fn find(
        &self,
        caller: &Caller,
        files: &[FileReference],
        attempts: u32,
    ) -> Result<FoundFiles, CallError> {
        let mut found = FoundFiles::of(files);
        for ids in found.ids().chunks(MAX_FILES) {
            let by = OnBehalfOf {
                token: &caller.token,
                tenant: &caller.tenant(),
                request_id: &caller.request.id,
                traceparent: Some(caller.request.traceparent()),
            };
            found.add(self.call(&by, &json!({ "ids": ids, "brief": true }), attempts).await?);
        }
        Ok(found)
    }

    /// How long no call is tried, because the system service does not answer.
    pub(super) fn blocked_for(&self) -> Option<Duration> {
        self.breaker.open_for()
    }

    /// Makes one attempt to share. Files that are shared with too many organisations do not keep the others from it.
    pub(super) async fn share(&self, share: &DueShare) -> Result<(), CallError> {
        let by = OnBehalfOf {
            token: &share.token,
            tenant: &share.tenant,
            request_id: &share.request_id,
            traceparent: share.traceparent.clone(),
        };
        let mut full = Vec::new();
        for (chunk, ids) in share.files.chunks(MAX_FILES).enumerate() {
            let share_id = format!("{}-{chunk}", share.id);
            match self.share_files(&by, &share_id, ids, share).await {
                Err(CallError::NoRoom(found)) => {
                    let rest: Vec<_> = ids.iter().copied().filter(|id| !found.contains(id)).collect();
                    if !rest.is_empty() {
                        // Another id: a retry must find out again which files have no room.
                        self.share_files(&by, &format!("{share_id}-rest"), &rest, share).await?;
                    }
                    full.extend(found);
                }
                shared => shared?,
            }
        }
        if full.is_empty() { Ok(()) } else { Err(CallError::NoRoom(full)) }
    }

    async fn share_files(
        &self,
        by: &OnBehalfOf<'_>,
        share_id: &str,
        ids: &[Id],
        share: &DueShare,
    ) -> Result<(), CallError> {
        // An attempt whose answer was lost has shared: after an unsharing its retry must not share again.
        let body =
            json!({ "ids": ids, "shareWith": share.organisations, "shareId": share_id, "brief": true });
        self.call(by, &body, 1).await.map(drop)
    }

    async fn call(
        &self,
        by: &OnBehalfOf<'_>,
        body: &Value,
        attempts: u32,
    ) -> Result<Vec<FileInfo>, CallError> {
        let Some(_turn) = self.turns.acquire(by.tenant, ATTEMPT_TIMEOUT).await else {
            return Err(CallError::Unavailable(anyhow!("too many calls of one tenant are under way")));
        };
        let mut last = anyhow!("the circuit breaker is open");
        for attempt in 0..attempts {
            let Some(permit) = self.breaker.permit(by.tenant) else { break };
            match self.attempt(by, body).await {
                Attempt::Answered(answer) => {
                    permit.success();
                    return answer;
                }
                Attempt::Unusable(error) => {
                    permit.unusable();
                    return Err(CallError::Unavailable(error));
                }
                Attempt::Failed(error) => last = error,
            }
            if permit.failure() == AfterFailure::Probe {
                self.breaker.probed(self.is_reachable().await);
            }
            let pause = Duration::from_millis(rand::random_range(50..150) << attempt);
            if attempt + 1 < attempts {
                tokio::time::sleep(pause).await;
            }
        }
        Err(CallError::Unavailable(last))
    }

    async fn attempt(&self, by: &OnBehalfOf<'_>, body: &Value) -> Attempt {
        let mut span = traces::call("POST", &self.resolve);
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
        traces::called(&mut span, sent.as_ref().ok().map(Response::status));
        match sent {
            Ok(response) => self.read(response).await,
            Err(error) => Attempt::Failed(error.into()),
        }
    }

    /// Reads an answer, up to the bound.
    async fn read(&self, mut response: Response) -> Attempt {
        match response.status() {
            StatusCode::OK => {}
            StatusCode::BAD_REQUEST => return Attempt::Answered(Err(refusal(response).await)),
            status if status.is_server_error() => return Attempt::Failed(anyhow!("{status}")),
            status => return Attempt::Answered(Err(CallError::Refused(status))),
        }
        let (mut bytes, mut permit) = (Vec::new(), None);
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => return Attempt::Failed(error.into()),
            };
            let length = bytes.len() + chunk.len();
            if length > MAX_ANSWER_BYTES {
                return Attempt::Unusable(anyhow!("the answer has more than {MAX_ANSWER_BYTES} bytes"));
            }
            if length > LARGE_ANSWER_BYTES && permit.is_none() {
                match timeout(ATTEMPT_TIMEOUT, self.large_answers.acquire()).await {
                    Ok(Ok(acquired)) => permit = Some(acquired),
                    _ => return Attempt::Unusable(anyhow!("too many large answers are being read")),
                }
            }
            bytes.extend_from_slice(&chunk);
        }
        match serde_json::from_slice(&bytes) {
            Ok(infos) => Attempt::Answered(Ok(infos)),
            Err(error) => Attempt::Failed(redacted_json_error(&error)),
        }
    }
}

/// Why a request was refused with 400: `data.ids` of a validation entry names the files that have no room.
async fn refusal(mut response: Response) -> CallError {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        if bytes.len() + chunk.len() > MAX_REFUSAL_BYTES {
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

fn unavailable(cause: anyhow::Error) -> Error {
    Error::Unavailable(cause, "The system service, which knows the files,")
}
