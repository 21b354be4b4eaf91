//! The client of the system service: what a load or a listing needs to know of the files it names.
//!
//! Each request asks anew, with the caller's own token: archiving and sharing hold at once.

mod breaker;

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use opentelemetry::global::BoxedSpan;
use reqwest::{Response, StatusCode};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use crate::auth::Caller;
use crate::problem::{Code, Problems};
use crate::request::{REQUEST_ID, TRACEPARENT};
use crate::wire::FileReference;
use crate::{Error, traces, unreadable};
use breaker::Breaker;

/// Each try is given up after this long.
const TIMEOUT: Duration = Duration::from_secs(2);
const TRIES: u32 = 3;
/// So many files can be named in a call.
const MOST_FILES: usize = 50;

/// Asks the system service about files.
pub struct FileClient {
    http: reqwest::Client,
    resolve: Url,
    ready: Url,
    breaker: Breaker,
}

/// The members of File info that a reference shows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileInfo {
    id: String,
    name: String,
    url: String,
    #[serde(default)]
    user_name: String,
    #[serde(rename = "createdAtUTC")]
    created_at: String,
}

impl FileInfo {
    fn reference(&self) -> FileReference {
        let Self { id, name, url, user_name, created_at } = self;
        FileReference {
            id: id.clone(),
            name: name.clone(),
            url: url.clone(),
            user_name: user_name.clone(),
            created_at: created_at.clone(),
        }
    }
}

impl FileClient {
    /// A client of the system service at this base URL (`service.system_url`).
    pub fn new(system: &str) -> anyhow::Result<Self> {
        let base = system.trim_end_matches('/');
        let parsed: Url = base.parse().context("service.system_url is no URL, such as http://system:8081")?;
        anyhow::ensure!(parsed.has_host(), "service.system_url names no host");
        Ok(Self {
            http: crate::http::client(TIMEOUT)?,
            resolve: format!("{base}/v1/files/resolve").parse()?,
            ready: format!("{base}/healthz").parse()?,
            breaker: Breaker::new(),
        })
    }

    /// True when the system service answers soon.
    pub async fn is_reachable(&self) -> bool {
        let asked = self.http.get(self.ready.clone()).timeout(Duration::from_millis(700)).send();
        asked.await.is_ok_and(|response| response.status().is_success())
    }

    /// The files that a request names, complete; the caller's own among them are shared with these organisations
    /// (`*`: everybody). No files, no call.
    ///
    /// # Errors
    /// 400 `unknown_reference` at `files[i].id` for each that is not there, archived or not readable for the
    /// caller; 503 when the system service cannot be reached.
    pub async fn resolve(
        &self,
        caller: &Caller,
        files: &[FileReference],
        share_with: &[&str],
    ) -> Result<Vec<FileReference>, Error> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let ids = ids(files);
        // What is refused below has shared nothing.
        let asked = json!({ "ids": ids, "shareWith": share_with, "allOrNothing": true });
        let found = self.ask(caller, &asked).await?;
        let found: HashMap<_, _> = found.into_iter().map(|info| (info.id.clone(), info)).collect();
        let mut problems = Problems::default();
        let mut resolved = Vec::with_capacity(files.len());
        for (i, id) in ids.iter().enumerate() {
            match found.get(id) {
                Some(_) if ids[..i].contains(id) => {}
                Some(info) => resolved.push(info.reference()),
                None => problems.push(
                    format!("files[{i}].id"),
                    Code::UnknownReference,
                    "names no file that you may use: upload it first, or ask its owner to share it",
                ),
            }
        }
        problems.check().map(|()| resolved)
    }

    /// Shares those of the files that are the caller's with these organisations. Others, and files that are archived by
    /// now, stay as they are. No files, no call.
    ///
    /// # Errors
    /// 503 when the system service cannot be reached.
    pub async fn share(&self, caller: &Caller, files: &[FileReference], with: &[&str]) -> Result<(), Error> {
        for files in files.chunks(MOST_FILES) {
            self.ask(caller, &json!({ "ids": ids(files), "shareWith": with })).await?;
        }
        Ok(())
    }

    async fn ask(&self, caller: &Caller, body: &serde_json::Value) -> Result<Vec<FileInfo>, Error> {
        let mut last = anyhow!("the circuit breaker is open");
        for attempt in 0..TRIES {
            let Some(permit) = self.breaker.permit() else { break };
            let mut span = traces::call("POST", &self.resolve);
            let parent = span.as_ref().map_or_else(|| caller.request.traceparent(), traces::traceparent);
            let sent = self
                .http
                .post(self.resolve.clone())
                .bearer_auth(caller.token.expose_secret())
                .header(REQUEST_ID.as_str(), &caller.request.id)
                .header(TRACEPARENT.as_str(), parent)
                .json(body)
                .send();
            match answered(sent, &mut span).await {
                Ok(answer) => {
                    permit.success();
                    return answer;
                }
                Err(error) => last = error,
            }
            permit.failure();
            let pause = Duration::from_millis(rand::random_range(50..150) << attempt);
            if attempt + 1 < TRIES {
                tokio::time::sleep(pause).await;
            }
        }
        Err(unavailable(last))
    }
}

/// What system says. An error is worth another try; what is wrong with the request is not.
async fn answered(
    sent: impl Future<Output = reqwest::Result<Response>>,
    span: &mut Option<BoxedSpan>,
) -> anyhow::Result<Result<Vec<FileInfo>, Error>> {
    let sent = sent.await;
    traces::called(span, sent.as_ref().ok().map(Response::status));
    let response = sent?;
    Ok(match response.status() {
        StatusCode::OK => {
            let body = response.bytes().await?;
            Ok(serde_json::from_slice(&body).map_err(|error| unreadable(&error))?)
        }
        StatusCode::UNAUTHORIZED => Err(Error::Unauthenticated(Some("the token is not good for files"))),
        status if status.is_server_error() => bail!("{status}"),
        status => Err(unavailable(anyhow!("resolving files was answered with {status}"))),
    })
}

fn unavailable(cause: anyhow::Error) -> Error {
    Error::Unavailable(cause, "The system service, which knows the files,")
}

fn ids(files: &[FileReference]) -> Vec<String> {
    files.iter().map(|file| file.id.to_ascii_lowercase()).collect()
}
