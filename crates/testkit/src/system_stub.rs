//! A stand-in for the system service, as far as other services call it about files.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::User;

/// Answers `POST /v1/files/resolve` for the files that were added to it. Gone when dropped.
pub struct SystemStub {
    server: MockServer,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    files: Vec<Value>,
    archived: HashSet<String>,
    /// Calls that share are answered with this status instead.
    shares_status: Option<u16>,
    /// Delay of responses to calls that name at least this many files.
    delay: Option<(usize, Duration)>,
    /// White space at the end of answers, in bytes.
    padding: usize,
}

impl SystemStub {
    /// Starts it on a free port, without files.
    pub async fn start() -> Self {
        let (server, state) = (MockServer::start().await, Arc::<Mutex<State>>::default());
        let resolve = Mock::given(method("POST")).and(path("/v1/files/resolve"));
        resolve.respond_with(Resolve(state.clone())).mount(&server).await;
        let health = Mock::given(method("GET")).and(path("/healthz"));
        health.respond_with(ResponseTemplate::new(200)).mount(&server).await;
        Self { server, state }
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        self.server.uri()
    }

    /// Adds a file of this name that this user uploaded for their organisation and everybody may read, and gives its id.
    pub fn add(&self, name: &str, uploader: &User) -> String {
        let id = Uuid::now_v7().to_string();
        let mut file = json!({
            "id": id, "status": "active", "bucket": "images", "type": "image", "name": name,
            "hash": "sha256:00", "contentType": "image/jpeg", "url": format!("{}/v1/files/{id}", self.url()),
            "userId": uploader.claims["sub"], "userName": "Ruth", "organisations": [],
            "createdAtUTC": "2026-03-01T09:30:00.000Z",
        });
        if let Some(organisation) = uploader.claims.get("org") {
            file["organisationId"] = organisation.clone();
        }
        self.state().files.push(file);
        id
    }

    /// Archives a file: it is no longer found.
    pub fn archive(&self, id: &str) {
        self.state().archived.insert(id.to_owned());
    }

    /// Answers calls that share with this status from now on; `None`: shares again.
    pub fn set_share_status(&self, status: Option<u16>) {
        self.state().shares_status = status;
    }

    /// Answers calls that name so many files or more after this delay.
    pub fn delay(&self, ids: usize, delay: Duration) {
        self.state().delay = Some((ids, delay));
    }

    /// Makes answers so many bytes longer.
    pub fn pad(&self, bytes: usize) {
        self.state().padding = bytes;
    }

    /// The bodies of the resolve calls so far, without `brief`, which each has, and `shareId`, which those have that share.
    pub async fn calls(&self) -> Vec<Value> {
        let requests = self.server.received_requests().await.unwrap_or_default();
        let resolves = requests.iter().filter(|request| request.url.path() == "/v1/files/resolve");
        let body = |request: &Request| {
            let mut body: Value = request.body_json().unwrap();
            let is_share = shares(&body);
            let members = body.as_object_mut().unwrap();
            assert_eq!(members.remove("brief"), Some(json!(true)));
            assert_eq!(members.remove("shareId").is_some_and(|id| id.is_string()), is_share);
            body
        };
        resolves.map(body).collect()
    }

    /// The calls so far that share, whatever the response.
    pub async fn shares(&self) -> Vec<Value> {
        let mut calls = self.calls().await;
        calls.retain(shares);
        calls
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True for the body of a call that shares.
fn shares(body: &Value) -> bool {
    body["shareWith"].as_array().is_some_and(|with| !with.is_empty())
}

struct Resolve(Arc<Mutex<State>>);

impl Respond for Resolve {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        assert!(request.headers.contains_key("authorization"), "the caller's token is passed on");
        let body: Value = request.body_json().unwrap();
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(status) = state.shares_status.filter(|_| shares(&body)) {
            return ResponseTemplate::new(status);
        }
        let ids: Vec<_> = body["ids"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let found = |id: &&str| {
            let file = state.files.iter().find(|file| file["id"] == **id).cloned();
            file.filter(|_| !state.archived.contains(*id))
        };
        let mut body = serde_json::to_vec(&ids.iter().filter_map(found).collect::<Vec<_>>()).unwrap();
        body.resize(body.len() + state.padding, b' ');
        let answer = ResponseTemplate::new(200).set_body_raw(body, "application/json");
        match state.delay {
            Some((from, delay)) if ids.len() >= from => answer.set_delay(delay),
            _ => answer,
        }
    }
}
