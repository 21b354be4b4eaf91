//! Request smuggling: a proxy may see the end of these requests elsewhere than the service does. The bytes after them
//! must never be served as a request.

use testkit::App;

use crate::echo::start;
use crate::malformed_http::exchange;

const SMUGGLED: &str = "GET /v1/public HTTP/1.1\r\nhost: h\r\n\r\n";

/// Returns the statuses of all responses on a connection.
async fn statuses(app: &App, sent: &str) -> Vec<u16> {
    let response = exchange(app, sent.as_bytes()).await;
    let heads = response.split("HTTP/1.1 ").skip(1);
    heads.map(|head| head[..3].parse().unwrap_or_else(|e| panic!("{e}: {response}"))).collect()
}

#[test]
fn refuses_ambiguous_framing_and_closes_the_connection() {
    testkit::block_on(async {
        let app = start().await;
        let length = SMUGGLED.len();
        let heads = [
            format!("content-length: {length}\r\ntransfer-encoding: chunked"),
            format!("transfer-encoding: chunked\r\ncontent-length: {length}"),
            "content-length: 0\r\ntransfer-encoding: chunked".into(),
            format!("content-length: 0\r\ncontent-length: {length}"),
            format!("content-length: {length}\r\ncontent-length: {length}"),
            format!("content-length: 0, {length}"),
            format!("content-length: +{length}"),
            "content-length: -1".into(),
            "content-length: 0x10".into(),
            "content-length: 1 0".into(),
            "content-length: 99999999999999999999999".into(),
            "transfer-encoding: chunked\r\ntransfer-encoding: identity".into(),
            "transfer-encoding: chunked, identity".into(),
            "transfer-encoding: gzip, chunked".into(),
            "transfer-encoding: xchunked".into(),
            "transfer-encoding: identity".into(),
            "transfer-encoding : chunked".into(),
            " transfer-encoding: chunked".into(),
            "transfer-encoding:\u{b}chunked".into(),
            "transfer-encoding:\r\n chunked".into(),
            "x: a\r\n b".into(),
            "x: a\r\n\tcontent-length: 5".into(),
            "x: a\rcontent-length: 5".into(),
            "x: a\u{0}b".into(),
            "x\u{0}: a".into(),
            "host: other".into(),
            "no colon".into(),
            "x: a\nno colon".into(),
        ];
        let requests = heads
            .map(|head| format!("POST /v1/one HTTP/1.1\r\nhost: h\r\n{head}\r\n\r\n0\r\n\r\n{SMUGGLED}"));
        // `exchange` waits five seconds for a connection that stays open.
        let started = std::time::Instant::now();
        let all =
            futures_util::future::join_all(requests.iter().map(|request| statuses(&app, request))).await;
        for (found, request) in all.iter().zip(&requests) {
            assert_eq!(*found, [400], "{request:?}");
        }
        assert!(started.elapsed().as_secs() < 5, "a connection stayed open");
        let old = format!("POST /v1/one HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}");
        assert!(!exchange(&app, old.as_bytes()).await.contains(" 200 "));
    });
}

#[test]
fn invalid_chunks_close_the_connection() {
    testkit::block_on(async {
        let app = start().await;
        let head = "POST /v1/one HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        for chunks in [
            "zz\r\n",
            "0x2\r\n{}\r\n0\r\n\r\n",
            "-1\r\n{}\r\n",
            "2\r\n{}x\r\n0\r\n\r\n",
            "ffffffffffffffff1\r\n{}",
        ] {
            let found = statuses(&app, &format!("{head}{chunks}{SMUGGLED}")).await;
            assert!(matches!(found[..], [] | [400]), "{chunks:?}: {found:?}");
        }
    });
}

#[test]
fn an_unread_body_is_not_served_as_a_request() {
    testkit::block_on(async {
        let app = start().await;
        let last = "GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
        for (begin, status) in [
            ("POST /v1/things HTTP/1.1", 401),
            ("GET /v1/who HTTP/1.1", 401),
            ("GET /v1/nothing HTTP/1.1", 404),
            ("DELETE /v1/things HTTP/1.1", 405),
            ("POST /v1/one HTTP/1.1", 415),
            ("GET /healthz HTTP/1.1", 200),
        ] {
            let length = SMUGGLED.len();
            let request = format!("{begin}\r\nhost: h\r\ncontent-length: {length}\r\n\r\n{SMUGGLED}{last}");
            let chunked = format!(
                "{begin}\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{SMUGGLED}\r\n0\r\n\r\n{last}"
            );
            for request in [request, chunked] {
                let response = exchange(&app, request.as_bytes()).await;
                let found: Vec<_> = response.split("HTTP/1.1 ").skip(1).map(|head| &head[..3]).collect();
                let first = status.to_string();
                assert!(found == [&*first, "200"] || found == [&*first], "{request}: {response}");
                assert!(
                    found.len() == 1 || response.ends_with(r#"{"status":"ok"}"#),
                    "{request}: {response}"
                );
            }
        }
    });
}

#[test]
fn refuses_path_traversal() {
    testkit::block_on(async {
        let app = start().await;
        for path in [
            "/docs/../Cargo.toml",
            "/docs/../../../../../../etc/passwd",
            "/docs/..%2f..%2f..%2fetc%2fpasswd",
            "/docs/%2e%2e/%2e%2e/etc/passwd",
            "/docs//etc/passwd",
            "/docs/%2fetc%2fpasswd",
            "/docs/..\\..\\etc\\passwd",
            "/docs/index.html%00.js",
            "/v1/../metrics",
            "/v1/things/..%2f..%2fmetrics",
            "/v1/things/%00",
            "/%00",
            "/%ff%fe",
            "//etc/passwd",
            "/v1/things;admin=true",
        ] {
            let request = format!("GET {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n");
            let response = exchange(&app, request.as_bytes()).await;
            assert!(!response.contains("root:") && !response.contains("[package]"), "{path}: {response}");
            assert!(response.starts_with("HTTP/1.1 4"), "{path}: {response}");
        }
    });
}
