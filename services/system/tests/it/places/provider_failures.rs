//! Providers that fail in different ways.

use std::time::Duration;

use serde_json::json;
use system::AddressProvider::{Loqate, Photon};
use system::Settings;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Places, addresses_from, all, assert_complete, calls, loqate, start_with, words_from};
use crate::UNREACHABLE;

/// Invalid responses.
fn failures() -> Vec<(&'static str, ResponseTemplate)> {
    let text = |status: u16, text: &str| ResponseTemplate::new(status).set_body_string(text);
    vec![
        ("server error", text(500, "{}")),
        ("client error", text(403, "{\"error\":{\"code\":\"SuspendedKey\"}}")),
        ("redirect", ResponseTemplate::new(302).insert_header("location", "http://127.0.0.1:1/")),
        ("too slow", text(200, "{}").set_delay(Duration::from_millis(900))),
        ("not JSON", text(200, "<html>")),
        ("empty", text(200, "")),
        ("other JSON", text(200, "{\"hello\":[1]}")),
        ("huge", text(200, &format!("{{\"Items\":[],\"features\":[],\"x\":\"{}\"}}", "x".repeat(1 << 20)))),
        (
            "coordinates out of range",
            text(
                200,
                r#"{"words":"a.b.c","coordinates":{"lat":91,"lng":0},"features":[{"geometry":
            {"coordinates":[0]},"properties":{"countrycode":"GB"}}],"Items":[{"Id":1}]}"#,
            ),
        ),
    ]
}

/// Starts a stub that responds to every request alike.
async fn responding_with(template: ResponseTemplate) -> MockServer {
    let stub = MockServer::start().await;
    Mock::given(any()).respond_with(template).mount(&stub).await;
    stub
}

/// Starts a service for each kind of call to a provider, with a path that causes the call.
async fn start_each(stub: &MockServer, fallback: bool) -> Vec<(&'static str, Places, String)> {
    let start = async |settings| start_with(Settings { address_fallback: fallback, ..settings }).await;
    vec![
        ("words", start(words_from(stub)).await, "/v1/locations/three-words?query=a.b.c".into()),
        ("loqate", start(addresses_from(Loqate, stub)).await, "/v1/addresses?query=Hereford".into()),
        ("photon", start(addresses_from(Photon, stub)).await, "/v1/addresses?query=Hereford".into()),
        (
            "reverse",
            start(addresses_from(Photon, stub)).await,
            "/v1/locations/coordinates?lat=52&lon=-3".into(),
        ),
    ]
}

#[test]
fn provider_failures_are_reported_and_not_cached() {
    testkit::block_on(async {
        for (name, template) in failures() {
            let stub = responding_with(template).await;
            for (provider, app, path) in start_each(&stub, false).await {
                let before = calls(&stub).await;
                for _ in 0..2 {
                    let reply = app.get(&path).send().await;
                    assert!(reply.json()["message"].as_str().unwrap().contains("provider"), "{name}");
                    assert_eq!(reply.error(503), "dependency_unavailable", "{provider} {name}");
                }
                assert_eq!(calls(&stub).await - before, 2, "{provider} {name}: one call per request");
            }
        }
    });
}

#[test]
fn unreachable_providers_are_reported() {
    testkit::block_on(async {
        let url = Some(format!("http://{UNREACHABLE}").parse().unwrap());
        let stub = MockServer::start().await;
        let app = start_with(Settings { address_url: url, ..addresses_from(Photon, &stub) }).await;
        assert_eq!(app.search(&[("query", "Hereford")]).await.error(503), "dependency_unavailable");
    });
}

#[test]
fn gazetteer_is_the_fallback_for_addresses() {
    testkit::block_on(async {
        for (name, template) in failures() {
            let stub = responding_with(template).await;
            for (provider, app, path) in &start_each(&stub, true).await[1..] {
                let response = app.get(path).send().await.ok();
                match response.get("results") {
                    Some(_) => assert_eq!(all(&response, "source")[0], "gazetteer", "{provider} {name}"),
                    None => assert_complete(&response),
                }
            }
        }
    });
}

#[test]
fn fallback_responses_are_not_cached_as_the_providers() {
    testkit::block_on(async {
        let stub = responding_with(ResponseTemplate::new(500)).await;
        let app = start_with(Settings { address_fallback: true, ..addresses_from(Loqate, &stub) }).await;
        let response = app.search(&[("query", "hr4 9ar")]).await.ok();
        assert_eq!(response["source"], "gazetteer");
        let id = response["id"].as_str().unwrap();
        assert_eq!(app.by_id("gazetteer", id).await.ok()["address"]["postcode"], "HR4 9AR");
        assert_eq!(app.by_id("loqate", id).await.error(503), "dependency_unavailable");
        let container = app.search(&[("query", "HR1")]).await.ok();
        let inside = app.search(&[("id", container["id"].as_str().unwrap())]).await.ok();
        assert_eq!(inside["source"], "gazetteer", "contents of a container of the fallback");
        assert_eq!(app.search(&[("id", "GB|RM|ENG|9AR-HR4")]).await.error(503), "dependency_unavailable");
        stub.reset().await;
        let items = json!({"Items": [{"Id": "1", "Type": "Address", "Text": "1 King Street"}]});
        let response = ResponseTemplate::new(200).set_body_json(items);
        Mock::given(wiremock::matchers::path(loqate::FIND)).respond_with(response).mount(&stub).await;
        assert_eq!(app.search(&[("query", "hr4 9ar")]).await.ok()["source"], "loqate");
    });
}

#[test]
fn readiness_reports_the_last_call() {
    testkit::block_on(async {
        let stub = loqate::stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        let ready = app.wait_for_readiness("addresses", "ok").await;
        assert_eq!(ready.get("words"), None, "the grid has no dependency");
        assert_eq!(app.by_id("", "refused").await.status, 503);
        app.wait_for_readiness("addresses", "degraded").await;
        assert_eq!(app.by_id("", "unknown").await.status, 404);
        app.wait_for_readiness("addresses", "ok").await;
        assert_eq!(calls(&stub).await, 2, "readiness makes no calls");
    });
}
