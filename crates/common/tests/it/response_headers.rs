//! Headers of every response, HEAD, compression, traces and CORS.

use serde_json::Value;
use testkit::User;

use crate::echo::{start, start_with};

#[test]
fn accepts_or_replaces_request_ids() {
    testkit::block_on(async {
        let app = start().await;
        let longest = "x".repeat(128);
        for accepted in ["a", "1;2/3 4".replace(' ', "").as_str(), longest.as_str()] {
            let reply = app.get("/v1/nothing").header("x-request-id", accepted).send().await;
            assert_eq!(reply.header("x-request-id"), accepted);
            assert_eq!(reply.json()["body"]["requestId"], accepted);
        }
        let long = "x".repeat(129);
        for replaced in ["", "a b", "tab\tx", "é", long.as_str()] {
            let reply = app.get("/healthz").header("x-request-id", replaced).send().await;
            let id = reply.header("x-request-id");
            assert!(!id.is_empty() && id != replaced && id.bytes().all(|b| b.is_ascii_graphic()), "{id}");
        }
        let [a, b] = [app.get("/"), app.get("/")].map(testkit::TestRequest::send);
        assert_ne!(a.await.header("x-request-id"), b.await.header("x-request-id"));
    });
}

#[test]
fn every_response_has_the_common_headers() {
    testkit::block_on(async {
        let app = start().await;
        for path in [
            "/",
            "/healthz",
            "/readyz",
            "/metrics",
            "/openapi.json",
            "/docs/",
            "/v1/public",
            "/v1/who",
            "/v1/panic",
            "/x",
        ] {
            let reply = app.get(path).send().await;
            assert_eq!(reply.header("api-version"), "1.2.0", "{path}");
            assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
            assert!(!reply.header("x-request-id").is_empty(), "{path}");
            let policy = reply.header("content-security-policy");
            for directive in ["default-src", "base-uri 'none'", "frame-ancestors 'none'"] {
                assert!(policy.contains(directive), "{path}: {policy}");
            }
        }
        for path in ["/v1/hear?must=ab", "/v1/who", "/v1/bug"] {
            assert_eq!(app.get(path).send().await.header("cache-control"), "private, no-store", "{path}");
        }
        assert_eq!(app.get("/v1/public").send().await.header("cache-control"), "public, max-age=60");
    });
}

#[test]
fn head_equals_get_without_a_body() {
    testkit::block_on(async {
        let app = start().await;
        let user = User::of("a");
        for path in [
            "/",
            "/healthz",
            "/openapi.json",
            "/v1/hear?must=ab",
            "/v1/hear",
            "/v1/who",
            "/v1/nothing",
            "/v1/big",
            "/v1/things",
        ] {
            let get = app.get(path).by(&user).send().await;
            let head = app.call("HEAD", path).by(&user).send().await;
            assert_eq!((head.status, head.bytes.len()), (get.status, 0), "{path}");
            for name in ["content-type", "content-length", "cache-control", "vary"] {
                assert_eq!(head.header(name), get.header(name), "{path} {name}");
            }
            assert_eq!(head.header("content-length"), get.bytes.len().to_string(), "{path}");
        }
        assert_eq!(app.call("HEAD", "/v1/one").send().await.status, 405);
    });
}

#[test]
fn compresses_by_accept_encoding() {
    testkit::block_on(async {
        let app = start().await;
        let plain = app.get("/v1/big").send().await;
        assert_eq!((plain.header("content-encoding"), plain.bytes.len()), ("", 60_002));
        for coding in ["gzip", "br", "zstd"] {
            let reply = app.get("/v1/big").header("accept-encoding", coding).send().await;
            assert_eq!((reply.status, reply.header("content-encoding")), (200, coding));
            assert!(reply.bytes.len() < 5_000, "{coding}: {}", reply.bytes.len());
            assert!(reply.header("vary").to_lowercase().contains("accept-encoding"), "{coding}");
            let error = app.get("/v1/nothing").header("accept-encoding", coding).send().await;
            assert_eq!((error.header("content-encoding"), error.status), ("", 404));
        }
    });
}

#[test]
fn compressed_responses_are_not_delayed() {
    testkit::block_on(async {
        let app = start().await;
        let (mut plain, mut gzip) = (Vec::new(), Vec::new());
        for _ in 0..40 {
            for (coding, expected, millis) in [("identity", "", &mut plain), ("gzip", "gzip", &mut gzip)] {
                let began = std::time::Instant::now();
                let reply = app.get("/v1/big").header("accept-encoding", coding).send().await;
                assert_eq!((reply.status, reply.header("content-encoding")), (200, expected));
                millis.push(began.elapsed().as_millis());
            }
        }
        plain.sort_unstable();
        gzip.sort_unstable();
        // A delayed acknowledgement takes 40 ms. A busy machine slows both alike.
        assert!(gzip[20] <= plain[20] + 30, "{gzip:?} {plain:?}");
    });
}

#[test]
fn every_response_varies_by_accept_encoding() {
    testkit::block_on(async {
        let user = User::of("a");
        let browser =
            start_with(|config| config.server.cors_origins = vec!["https://app.example".into()]).await;
        for app in [start().await, browser] {
            for path in [
                "/",
                "/healthz",
                "/metrics",
                "/openapi.json",
                "/docs/",
                "/v1/big",
                "/v1/who",
                "/v1/things",
                "/v1/things?format=CSV",
                "/v1/pause",
                "/v1/public/hear?must=ab",
                "/v1/hear",
                "/v1/nothing",
                "/v1/panic",
            ] {
                for (method, coding, origin) in [
                    ("GET", None, "https://app.example"),
                    ("GET", Some("identity"), "https://other.example"),
                    ("GET", Some("gzip"), "https://app.example"),
                    ("HEAD", Some("gzip"), ""),
                    ("HEAD", None, ""),
                ] {
                    let mut call = app.call(method, path).by(&user);
                    call =
                        coding.into_iter().fold(call, |call, coding| call.header("accept-encoding", coding));
                    if !origin.is_empty() {
                        call = call.header("origin", origin);
                    }
                    let reply = call.send().await;
                    let lines: Vec<_> = reply.headers.get_all("vary").iter().collect();
                    assert_eq!(lines.len(), 1, "{path} {method} {coding:?} {origin}: {lines:?}");
                    let vary = reply.header("vary").to_lowercase();
                    let names: Vec<_> = vary.split(',').map(str::trim).collect();
                    let count = |name| names.iter().filter(|other| **other == name).count();
                    assert_eq!(count("accept-encoding"), 1, "{path} {method} {coding:?} {origin}: {vary}");
                    assert!(count("origin") <= 1, "{path} {method} {coding:?} {origin}: {vary}");
                    if !reply.header("access-control-allow-origin").is_empty() && !path.contains("public") {
                        assert_eq!(count("origin"), 1, "{path} {method} {coding:?} {origin}: {vary}");
                    }
                }
            }
        }
    });
}

#[test]
fn passes_traceparent_on() {
    testkit::block_on(async {
        let app = start().await;
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let who = async |traceparent: &str| -> Value {
            app.get("/v1/who").by(&User::of("a")).header("traceparent", traceparent).send().await.ok()
        };
        let passed_on =
            who(&format!("00-{trace}-b7ad6b7169203331-01")).await["traceparent"].as_str().unwrap().to_owned();
        // The service exports no spans, so it passes the parent on unchanged.
        assert_eq!(passed_on, format!("00-{trace}-b7ad6b7169203331-01"));
        let other = who("nonsense").await["traceparent"].as_str().unwrap().to_owned();
        assert!(!other.contains(trace) && other.len() == 55, "{other}");
    });
}

#[test]
fn configured_origins_may_read_every_response() {
    testkit::block_on(async {
        let app = start_with(|config| config.server.cors_origins = vec!["https://app.example".into()]).await;
        for path in ["/v1/public", "/v1/who", "/v1/hear", "/v1/nothing"] {
            let reply = app.get(path).header("origin", "https://app.example").send().await;
            assert_eq!(reply.header("access-control-allow-origin"), "https://app.example", "{path}");
            let other = app.get(path).header("origin", "https://evil.example").send().await;
            assert_eq!(other.header("access-control-allow-origin"), "", "{path}");
        }
        for (path, method, status) in [("/v1/hear", "PATCH", 405), ("/v1/%68ear?must=ab", "GET", 406)] {
            let call = app.call(method, path).header("origin", "https://app.example");
            let refused = call.header("accept", "image/png").send().await;
            assert_eq!(refused.status, status, "{path}");
            assert_eq!(refused.header("access-control-allow-origin"), "https://app.example", "{path}");
            assert!(refused.header("access-control-expose-headers").contains("x-request-id"), "{path}");
        }
        let preflight = app
            .call("OPTIONS", "/v1/things")
            .header("origin", "https://app.example")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,idempotency-key");
        let reply = preflight.send().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert!(reply.header("access-control-allow-methods").contains("POST"));
        assert_eq!(reply.header("api-version"), "1.2.0");
        let foreign = app
            .call("OPTIONS", "/v1/things")
            .header("origin", "https://evil.example")
            .header("access-control-request-method", "POST");
        let refused = foreign.send().await;
        assert_eq!(refused.status, 400);
        let message = refused.json()["message"].to_string();
        assert!(message.contains("origin, method or header") && !message.contains("body"), "{message}");
    });
}

/// Caches must not give a CSV file to somebody who accepts JSON.
#[test]
fn responses_vary_by_accept_where_it_chooses_the_format() {
    testkit::block_on(async {
        let (app, user) = (start().await, User::of("a"));
        for (path, status) in [("/v1/things", 200), ("/v1/things?limit=x", 400), ("/v1/who", 200)] {
            let reply = app.get(path).by(&user).header("accept", "application/json").send().await;
            let varies = reply.header("vary").split(", ").any(|name| name == "Accept");
            assert_eq!(
                (reply.status, varies),
                (status, path != "/v1/who"),
                "{path}: {}",
                reply.header("vary")
            );
        }
    });
}
