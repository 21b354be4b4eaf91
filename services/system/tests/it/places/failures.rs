//! Providers that fail, each in each way.

use std::time::Duration;

use serde_json::json;
use system::AddressProvider::{Loqate, Photon};
use system::Settings;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Places, addresses_from, all, calls, is_whole, loqate, start_with, words_from};

/// Answers that are none.
fn failures() -> Vec<(&'static str, ResponseTemplate)> {
    let text = |status: u16, text: &str| ResponseTemplate::new(status).set_body_string(text);
    vec![
        ("a server's error", text(500, "{}")),
        ("a client's error", text(403, "{\"error\":{\"code\":\"SuspendedKey\"}}")),
        ("elsewhere", ResponseTemplate::new(302).insert_header("location", "http://127.0.0.1:1/")),
        ("too slow", text(200, "{}").set_delay(Duration::from_millis(900))),
        ("no JSON", text(200, "<html>")),
        ("nothing", text(200, "")),
        ("other JSON", text(200, "{\"hello\":[1]}")),
        ("huge", text(200, &format!("{{\"Items\":[],\"features\":[],\"x\":\"{}\"}}", "x".repeat(1 << 20)))),
        (
            "off the globe",
            text(
                200,
                r#"{"words":"a.b.c","coordinates":{"lat":91,"lng":0},"features":[{"geometry":
            {"coordinates":[0]},"properties":{"countrycode":"GB"}}],"Items":[{"Id":1}]}"#,
            ),
        ),
    ]
}

async fn answering(template: ResponseTemplate) -> MockServer {
    let stub = MockServer::start().await;
    Mock::given(any()).respond_with(template).mount(&stub).await;
    stub
}

/// A service that counts on this provider, and what to ask so that it must be called.
async fn each(stub: &MockServer, fallback: bool) -> Vec<(&'static str, Places, String)> {
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
fn a_failure_is_a_503_and_is_not_kept() {
    testkit::block_on(async {
        for (name, template) in failures() {
            let stub = answering(template).await;
            for (provider, app, path) in each(&stub, false).await {
                let before = calls(&stub).await;
                for _ in 0..2 {
                    let reply = app.get(&path).send().await;
                    assert!(reply.json()["message"].as_str().unwrap().contains("provider"), "{name}");
                    assert_eq!(reply.error(503), "dependency_unavailable", "{provider} {name}");
                }
                assert_eq!(
                    calls(&stub).await - before,
                    2,
                    "{provider} {name}: asked again, and once each time"
                );
            }
        }
    });
}

#[test]
fn nobody_listens() {
    testkit::block_on(async {
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let url = Some(format!("http://{gone}").parse().unwrap());
        let stub = MockServer::start().await;
        let app = start_with(Settings { address_url: url, ..addresses_from(Photon, &stub) }).await;
        assert_eq!(app.search(&[("query", "Hereford")]).await.error(503), "dependency_unavailable");
    });
}

#[test]
fn the_gazetteer_stands_in_for_addresses_if_so_configured() {
    testkit::block_on(async {
        for (name, template) in failures() {
            let stub = answering(template).await;
            for (provider, app, path) in &each(&stub, true).await[1..] {
                let found = app.get(path).send().await.ok();
                match found.get("results") {
                    Some(_) => assert_eq!(all(&found, "source")[0], "gazetteer", "{provider} {name}"),
                    None => is_whole(&found),
                }
            }
        }
    });
}

#[test]
fn what_stood_in_is_not_kept_as_the_providers() {
    testkit::block_on(async {
        let stub = answering(ResponseTemplate::new(500)).await;
        let app = start_with(Settings { address_fallback: true, ..addresses_from(Loqate, &stub) }).await;
        let found = app.search(&[("query", "hr4 9ar")]).await.ok();
        assert_eq!(found["source"], "gazetteer");
        let id = found["id"].as_str().unwrap();
        assert_eq!(app.by_id("gazetteer", id).await.ok()["address"]["postcode"], "HR4 9AR");
        assert_eq!(app.by_id("loqate", id).await.error(503), "dependency_unavailable");
        let container = app.search(&[("query", "HR1")]).await.ok();
        let inside = app.search(&[("id", container["id"].as_str().unwrap())]).await.ok();
        assert_eq!(inside["source"], "gazetteer", "what is in a container that stood in");
        assert_eq!(app.search(&[("id", "GB|RM|ENG|9AR-HR4")]).await.error(503), "dependency_unavailable");
        stub.reset().await;
        let well = json!({"Items": [{"Id": "1", "Type": "Address", "Text": "1 King Street"}]});
        let answer = ResponseTemplate::new(200).set_body_json(well);
        Mock::given(wiremock::matchers::path(loqate::FIND)).respond_with(answer).mount(&stub).await;
        assert_eq!(app.search(&[("query", "hr4 9ar")]).await.ok()["source"], "loqate");
    });
}

#[test]
fn readiness_tells_how_the_last_call_went() {
    testkit::block_on(async {
        let stub = loqate::stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        let ready = async || app.get("/readyz").send().await.ok();
        assert_eq!(ready().await["addresses"], "ok");
        assert_eq!(ready().await.get("words"), None, "the grid depends on nothing");
        assert_eq!(app.by_id("", "refused").await.status, 503);
        assert_eq!(ready().await["addresses"], "degraded");
        assert_eq!(app.by_id("", "unknown").await.status, 404);
        assert_eq!(ready().await["addresses"], "ok");
        assert_eq!(calls(&stub).await, 2, "nobody is called for a probe");
    });
}
