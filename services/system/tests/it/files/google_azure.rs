//! Google Cloud Storage and Azure Blob Storage, with stubs of the requests that they document, since no emulator of
//! either runs here.

use std::collections::HashMap;
use std::sync::Mutex;

use system::{Settings, System};
use testkit::{App, Backend, User};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

use super::memory_usage::Process;
use super::{PNG, form, id, noise, part};

/// Stores objects by path.
#[derive(Default)]
struct Objects(Mutex<HashMap<String, Vec<u8>>>);

impl Respond for Objects {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let (mut objects, path) = (self.0.lock().unwrap(), request.url.path().to_owned());
        let response = |status| {
            ResponseTemplate::new(status)
                .insert_header("etag", "\"1\"")
                .insert_header("last-modified", "Sun, 22 Nov 2026 10:00:00 GMT")
        };
        let range = request.headers.get("range").or_else(|| request.headers.get("x-ms-range"));
        match (request.method.as_str(), objects.get(&path)) {
            ("PUT", _) => {
                objects.insert(path, request.body.clone());
                response(201)
            }
            (_, None) => ResponseTemplate::new(404),
            ("GET", Some(content)) => {
                let range = range.unwrap().to_str().unwrap().strip_prefix("bytes=").unwrap();
                let (first, last) = range.split_once('-').unwrap();
                let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
                let spec = format!("bytes {first}-{last}/{}", content.len());
                response(206).insert_header("content-range", spec).set_body_bytes(&content[first..=last])
            }
            ("HEAD", Some(content)) => response(200).set_body_bytes(content.clone()),
            (method, _) => panic!("{method} {path}"),
        }
    }
}

async fn stub() -> MockServer {
    let server = MockServer::start().await;
    Mock::given(matchers::any()).respond_with(Objects::default()).mount(&server).await;
    server
}

/// Uploads and downloads files and ranges. Checks that the paths of the objects begin with `prefix`.
async fn assert_round_trip(url: &str, server: &MockServer, prefix: &str) {
    let (client, token) = (reqwest::Client::new(), User::of("farm").token());
    let content = noise(900_000);
    let upload = || form("files", "misc", "x").part("file", part(&content)).part("file", part(PNG));
    for _ in 0..2 {
        let sent = client.post(format!("{url}/v1/files")).bearer_auth(&token).multipart(upload());
        let record = sent.send().await.unwrap().json().await.unwrap();
        let get = client.get(format!("{url}/v1/files/{}", id(&record))).bearer_auth(&token);
        let got = get.try_clone().unwrap().send().await.unwrap();
        assert!(got.bytes().await.unwrap() == content);
        let got = get.header("range", "bytes=7-99").send().await.unwrap();
        assert!(got.bytes().await.unwrap() == content[7..=99]);
    }
    let requests = server.received_requests().await.unwrap();
    let puts: Vec<_> = requests.iter().filter(|request| request.method.as_str() == "PUT").collect();
    assert_eq!(puts.len(), 2, "equal content is stored once");
    assert!(puts.iter().all(|put| put.url.path().starts_with(prefix)), "{puts:?}");
}

#[test]
fn stores_contents_in_azure() {
    testkit::block_on(async {
        let server = stub().await;
        let settings = Settings {
            store_url: "az://container/some/folder".into(),
            store_endpoint: Some(server.uri().parse().unwrap()),
            store_access_key: Some("account".into()),
            store_secret_key: Some("c2VjcmV0".to_owned().into()),
            ..Settings::default()
        };
        let app = App::start::<System>(Backend::Sqlite, settings).await;
        app.wait_for_readiness("store", "ok").await;
        assert_round_trip(&app.url, &server, "/container/some/folder/").await;
        let put = server.received_requests().await.unwrap().into_iter().find(|r| r.method.as_str() == "PUT");
        let put = put.unwrap();
        assert_eq!(put.headers["x-ms-blob-type"], "BlockBlob");
        assert!(put.headers["authorization"].to_str().unwrap().starts_with("SharedKey account:"));
    });
}

#[test]
fn stores_contents_in_google() {
    testkit::block_on(async {
        let (server, folder) = (stub().await, tempfile::tempdir().unwrap());
        let (uri, path) = (server.uri(), folder.path().to_owned());
        // Google's credentials come from environment variables only, which need a separate process.
        let key = r#"{"disable_oauth": true, "private_key": "", "private_key_id": "", "client_email": ""}"#;
        let start = move || {
            let settings = [
                ("DROVER_SERVICE__STORE_URL", "gs://bucket/folder"),
                ("DROVER_SERVICE__STORE_ENDPOINT", &uri),
                ("GOOGLE_SERVICE_ACCOUNT_KEY", key),
            ];
            Process::start(&path, &settings)
        };
        let service = tokio::task::spawn_blocking(start).await.unwrap();
        assert_round_trip(&service.url, &server, "/bucket/folder%2F").await;
    });
}
