//! Sources of verification keys: allowed URLs, and misbehaving servers.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{App, Backend, TestDatabase, User};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::echo::Echo;
use crate::keys::Key;

async fn configure(url: &str) -> (TestDatabase, common::Config<()>) {
    let database = TestDatabase::new::<Echo>(Backend::Sqlite).await;
    let mut config = testkit::config::<Echo>(&database, ());
    config.auth.jwks_file = None;
    config.auth.jwks_url = Some(url.parse().unwrap());
    (database, config)
}

#[test]
fn accepts_unencrypted_urls_only_in_private_networks() {
    testkit::block_on(async {
        for public in [
            "http://login.example/jwks",
            "http://8.8.8.8/jwks",
            "http://169.254.169.254/latest/meta-data",
            "http://134744072/jwks",
            "http://[2606:4700::1111]/jwks",
            "http://[::ffff:8.8.8.8]/jwks",
            "http://local.example./jwks",
            "http://localhost.example/jwks",
            "ftp://127.0.0.1/jwks",
            "file:///etc/passwd",
        ] {
            let (_database, config) = configure(public).await;
            let error = format!("{:#}", common::start::<Echo>(config).await.err().unwrap());
            assert!(error.contains("auth.jwks_url must be https://"), "{public}: {error}");
        }
        for private in [
            "http://127.0.0.1:9/jwks",
            "http://[::1]:9/jwks",
            "http://localhost:9/jwks",
            "http://a.localhost:9/jwks",
        ] {
            let (_database, config) = configure(private).await;
            common::start::<Echo>(config).await.unwrap().stop().await;
        }
    });
}

/// Starts a service whose key source responds as `adjust` changes a valid response. Returns the status of a request
/// with a valid token, the duration of the start, and how often `/good`, the target of redirects, was requested.
async fn start_with_key_source(
    adjust: impl FnOnce(ResponseTemplate, &MockServer) -> ResponseTemplate,
) -> (u16, Duration, usize) {
    let (key, server) = (Key::ed25519("k"), MockServer::start().await);
    let set = json!({"keys": [key.public()]});
    let valid = ResponseTemplate::new(200).set_body_json(&set);
    Mock::given(path("/good")).respond_with(valid.clone()).mount(&server).await;
    let adjusted = adjust(valid, &server);
    Mock::given(path("/jwks")).respond_with(adjusted).mount(&server).await;
    let started = Instant::now();
    let (database, config) = configure(&format!("{}/jwks", server.uri())).await;
    let app = App::start_with::<Echo>(database, config).await;
    let took = started.elapsed();
    let status = app.get("/v1/who").bearer(&key.sign(&User::of("a").claims)).send().await.status;
    assert_eq!(app.get("/healthz").send().await.status, 200);
    let requests = server.received_requests().await.unwrap();
    (status, took, requests.iter().filter(|request| request.url.path() == "/good").count())
}

#[test]
fn key_sources_are_bounded_and_not_redirected() {
    testkit::block_on(async {
        assert_eq!(start_with_key_source(|valid, _| valid).await.0, 200);
        let redirect = start_with_key_source(|_, server| {
            ResponseTemplate::new(302).insert_header("location", format!("{}/good", server.uri()))
        });
        let (status, _, followed) = redirect.await;
        assert_eq!((status, followed), (503, 0), "a redirect was followed");
        let large = start_with_key_source(|_, _| {
            ResponseTemplate::new(200).set_body_string(format!("{{\"keys\":[]}}{}", " ".repeat(1 << 20)))
        });
        assert_eq!(large.await.0, 503);
        let (status, took, _) =
            start_with_key_source(|valid, _| valid.set_delay(Duration::from_secs(3600))).await;
        assert!(status == 503 && took < Duration::from_secs(30), "{status} after {took:?}");
    });
}

#[test]
fn a_service_is_ready_once_it_has_keys() {
    testkit::block_on(async {
        let server = MockServer::start().await;
        let (database, config) = configure(&format!("{}/jwks", server.uri())).await;
        let app = App::start_with::<Echo>(database, config).await;
        let ready = app.get("/readyz").send().await;
        assert_eq!((ready.status, &ready.json()["keys"]), (503, &json!("unavailable")));
        // Without any request that would need the keys.
        let (key, valid) = (Key::ed25519("k"), ResponseTemplate::new(200));
        let set = json!({"keys": [key.public()]});
        Mock::given(path("/jwks")).respond_with(valid.set_body_json(&set)).mount(&server).await;
        app.wait_for_readiness("keys", "ok").await;
        assert_eq!(app.get("/readyz").send().await.status, 200);
        // Keys that were loaded once stay in use.
        server.reset().await;
        assert_eq!(app.get("/readyz").send().await.status, 200);
        app.get("/v1/who").bearer(&key.sign(&User::of("a").claims)).send().await.ok();
    });
}
