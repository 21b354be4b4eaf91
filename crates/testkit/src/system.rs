//! A stand-in for the system service, as far as other services ask it about files.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use uuid::Uuid;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// Answers `POST /v1/files/resolve` for the files that were added to it. Gone when dropped.
pub struct SystemStub {
    server: MockServer,
    files: Files,
}

type Files = Arc<Mutex<Vec<Value>>>;

impl SystemStub {
    /// Starts it on a free port, without files.
    pub async fn start() -> Self {
        let (server, files) = (MockServer::start().await, Files::default());
        let resolve = Mock::given(method("POST")).and(path("/v1/files/resolve"));
        resolve.respond_with(Resolve(files.clone())).mount(&server).await;
        let health = Mock::given(method("GET")).and(path("/healthz"));
        health.respond_with(ResponseTemplate::new(200)).mount(&server).await;
        Self { server, files }
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        self.server.uri()
    }

    /// Adds a file of this name that everybody may use, and gives its id.
    pub fn add(&self, name: &str) -> String {
        let id = Uuid::now_v7().to_string();
        self.files.lock().unwrap().push(json!({
            "id": id, "status": "active", "name": name, "url": format!("{}/v1/files/{id}", self.url()),
            "userName": "Ruth", "createdAtUTC": "2026-03-01T09:30:00.000Z", "bucket": "images", "organisations": [],
        }));
        id
    }

    /// The bodies of the resolve calls so far.
    pub async fn calls(&self) -> Vec<Value> {
        let requests = self.server.received_requests().await.unwrap_or_default();
        let resolves = requests.iter().filter(|request| request.url.path() == "/v1/files/resolve");
        resolves.map(|request| request.body_json().unwrap()).collect()
    }
}

struct Resolve(Files);

impl Respond for Resolve {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        assert!(request.headers.contains_key("authorization"), "the caller's token is passed on");
        let body: Value = request.body_json().unwrap();
        let files = self.0.lock().unwrap();
        let found = |id: &Value| files.iter().find(|file| file["id"] == *id).cloned();
        let infos: Vec<_> = body["ids"].as_array().unwrap().iter().filter_map(found).collect();
        ResponseTemplate::new(200).set_body_json(infos)
    }
}
