//! Error bodies and codes.

use serde_json::json;
use testkit::{App, TestRequest, User};

use crate::echo::{start, thing};

/// Asserts that an error body has exactly the documented members (docs/api/errors.md).
fn assert_members(reply: &testkit::TestResponse) {
    let body = reply.json();
    let names: Vec<_> = body.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["body", "code", "message", "stack", "status", "validation"], "{body}");
    assert_eq!((&body["status"], &body["stack"]), (&json!("error"), &json!("")));
    assert_eq!(body["body"]["requestId"], reply.header("x-request-id"));
    assert!(body["message"].as_str().unwrap().ends_with('.'), "{body}");
    assert!(body["validation"].is_array());
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("api-version"), "1.2.0");
}

async fn expect(app: &App, call: testkit::TestRequest, status: u16, code: &str) -> testkit::TestResponse {
    let reply = call.send().await;
    assert_eq!(reply.status, status, "{}", reply.text());
    assert_members(&reply);
    assert_eq!(reply.json()["code"], code);
    assert!(app.get("/healthz").send().await.status == 200);
    reply
}

#[test]
fn returns_the_codes_of_routing_and_negotiation() {
    testkit::block_on(async {
        let app = start().await;
        let user = User::of("a");
        for path in [
            "/v1/nothing",
            "/nothing",
            "/v1",
            "/v1/",
            "/v1/things/",
            "/v1//things",
            "/v2/things",
            "/v1/things/a/b",
        ] {
            expect(&app, app.get(path), 404, "not_found").await;
        }
        let refused = expect(&app, app.call("DELETE", "/v1/things"), 405, "method_not_allowed").await;
        assert_eq!(refused.header("allow"), "GET, HEAD, POST");
        let refused = expect(&app, app.post("/healthz"), 405, "method_not_allowed").await;
        assert_eq!(refused.header("allow"), "GET, HEAD");
        let refused = expect(&app, app.call("PATCH", "/v1/settings"), 405, "method_not_allowed").await;
        assert_eq!(refused.header("allow"), "GET, HEAD, PUT");
        for method in ["OPTIONS", "TRACE"] {
            expect(&app, app.call(method, "/v1/things"), 405, "method_not_allowed").await;
        }
        let as_png = |call: TestRequest| call.header("accept", "image/png");
        expect(&app, as_png(app.get("/v1/things").by(&user)), 406, "not_acceptable").await;
        expect(&app, as_png(app.get("/v1/things")), 401, "unauthenticated").await;
        let two_lines = as_png(app.get("/v1/things").by(&user)).header("accept", "application/json");
        assert_eq!(two_lines.send().await.status, 200);
        for accept in ["text/csv", "application/json", "*/*", "text/html, */*;q=0.1"] {
            assert_eq!(app.get("/v1/things").by(&user).header("accept", accept).send().await.status, 200);
        }
        for accept in ["text/csv", "application/json;q=0, */*", "*/*;q=0"] {
            let find = app.get("/v1/things/x").by(&user).header("accept", accept);
            expect(&app, find, 406, "not_acceptable").await;
        }
        expect(&app, app.get("/v1/who").by(&user).header("accept", "text/csv"), 406, "not_acceptable").await;
        let coding = app.get("/v1/public").header("accept-encoding", "identity;q=0, *;q=0");
        expect(&app, coding, 406, "not_acceptable").await;
    });
}

#[test]
fn returns_the_codes_of_bodies() {
    testkit::block_on(async {
        let app = start().await;
        let user = User::of("a");
        let post = || app.post("/v1/things").by(&user);
        let json = thing("x").to_string();
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "application/jsonp",
            "nonsense",
        ] {
            expect(&app, post().body(kind, json.clone()), 415, "unsupported_media_type").await;
        }
        expect(&app, post(), 415, "unsupported_media_type").await;
        let compressed = post().body("application/json", json.clone()).header("content-encoding", "gzip");
        expect(&app, compressed, 415, "unsupported_media_type").await;
        for kind in ["application/json; charset=utf-8", "Application/JSON"] {
            assert_eq!(post().body(kind, json.clone()).send().await.status, 200, "{kind}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let huge = json.replace("\"amount\":5", "\"amount\":1e999");
        assert_ne!(huge, json);
        let malformed: [&[u8]; 8] = [
            b"",
            b"  ",
            &json.as_bytes()[..20],
            b"{'name': 1}",
            b"\"\xff\xfe\"",
            deep.as_bytes(),
            huge.as_bytes(),
            b"{\"name\": \"\\ud800\"}",
        ];
        for body in malformed {
            let call = post().body("application/json", body.to_vec());
            let refused = expect(&app, call, 400, "malformed_body").await;
            assert_eq!(refused.json()["validation"], json!([]));
        }
    });
}

#[test]
fn refuses_bodies_beyond_the_limit() {
    testkit::block_on(async {
        let app = start().await;
        let post = || app.post("/v1/things").by(&User::of("a"));
        let limit = 1 << 20;
        let mut exact = thing("x");
        exact["note"] = json!("");
        let room = limit - exact.to_string().len();
        exact["note"] = json!("x".repeat(room));
        assert_eq!(post().json(&exact).send().await.status, 200);
        exact["note"] = json!("x".repeat(room + 1));
        expect(&app, post().json(&exact), 413, "payload_too_large").await;
        // Without Content-Length, the service notices this when the limit is exceeded, not at the end.
        let chunks = (0..17).map(|_| Ok::<_, std::io::Error>(vec![b' '; 64 * 1024]));
        let body = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
        let streamed = post().body("application/json", body);
        expect(&app, streamed, 413, "payload_too_large").await;
    });
}

#[test]
fn internal_errors_disclose_nothing_and_the_service_continues() {
    testkit::block_on(async {
        let app = start().await;
        for path in ["/v1/panic", "/v1/bug"] {
            for _ in 0..5 {
                let reply = expect(&app, app.get(path).header("x-request-id", "mine"), 500, "internal").await;
                assert!(!reply.text().contains("secret"), "{}", reply.text());
                assert_eq!(reply.header("x-request-id"), "mine");
                assert_eq!(reply.header("cache-control"), "private, no-store");
            }
        }
        let head = app.call("HEAD", "/v1/panic").send().await;
        assert_eq!((head.status, head.bytes.len()), (500, 0));
    });
}

#[test]
fn an_unknown_commit_is_not_reported_as_unchanged() {
    testkit::block_on(async {
        let respond = async |error: database::Error| {
            let response = common::Error::from(error).respond("mine");
            assert_eq!(response.status(), 503);
            assert_eq!(response.headers().get("retry-after").unwrap(), "2");
            let bytes = actix_web::body::to_bytes(response.into_body()).await.unwrap();
            serde_json::from_slice::<serde_json::Value>(&bytes).unwrap()
        };
        let unavailable = respond(database::Error::Unavailable(database::Cause::Other, "gone".into())).await;
        assert!(unavailable["message"].as_str().unwrap().contains("nothing was changed"), "{unavailable}");
        assert_eq!(unavailable["body"], json!({"requestId": "mine"}));
        let unknown = respond(database::Error::CommitUnknown("gone".into())).await;
        assert!(!unknown["message"].as_str().unwrap().contains("nothing was changed"), "{unknown}");
        assert_eq!(unknown["body"], json!({"requestId": "mine", "outcome": "unknown"}));
        assert_eq!(unknown["code"], "dependency_unavailable");
    });
}
