//! Malformed requests and bodies, byte by byte.

use std::time::{Duration, Instant};

use testkit::{App, User};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::echo::{start, thing};

pub(crate) async fn connect(app: &App) -> TcpStream {
    TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap()
}

/// Reads until the server closes the connection, for at most five seconds.
pub(crate) async fn read_to_end(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut bytes)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Sends bytes on a new connection. Returns everything that the server sends.
pub(crate) async fn exchange(app: &App, request: &[u8]) -> String {
    let mut stream = connect(app).await;
    stream.write_all(request).await.unwrap();
    read_to_end(stream).await
}

#[test]
fn refuses_malformed_requests_and_stays_available() {
    testkit::block_on(async {
        let app = start().await;
        let long = format!("GET / HTTP/1.1\r\nhost: h\r\nx: {}\r\n\r\n", "y".repeat(200_000));
        let many = format!("GET / HTTP/1.1\r\nhost: h\r\n{}\r\n", "a: b\r\n".repeat(200));
        let requests: [&[u8]; 7] = [
            b"nonsense\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/9.9\r\nhost: h\r\n\r\n",
            b"POST /v1/one HTTP/1.1\r\nhost: h\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}",
            b"POST /v1/one HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
            long.as_bytes(),
            many.as_bytes(),
        ];
        let all = futures_util::future::join_all(requests.map(|request| exchange(&app, request)));
        for (response, request) in all.await.iter().zip(requests) {
            let begin = String::from_utf8_lossy(&request[..30.min(request.len())]).into_owned();
            assert!(response.starts_with("HTTP/1.1 4"), "{begin}: {response}");
        }
        assert_eq!(app.get("/healthz").send().await.status, 200);
    });
}

/// Returns the head of a valid POST with additional header lines.
fn head(more: &str) -> String {
    let token = User::of("a").token();
    format!(
        "POST /v1/things HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n{more}\r\n"
    )
}

#[test]
fn refuses_a_body_by_its_content_length() {
    testkit::block_on(async {
        let app = start().await;
        let started = Instant::now();
        let response = exchange(&app, head("content-length: 1048577\r\n").as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 413"), "{response}");
        assert!(
            response.contains("\"payload_too_large\"") && response.contains("1048576 bytes"),
            "{response}"
        );
        assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    });
}

#[test]
fn refuses_a_chunked_body_at_the_limit() {
    testkit::block_on(async {
        let app = start().await;
        let mut stream = connect(&app).await;
        stream.write_all(head("transfer-encoding: chunked\r\n").as_bytes()).await.unwrap();
        let (mut from, mut to) = stream.split();
        let chunk = format!("{:x}\r\n{}\r\n", 65_536, " ".repeat(65_536));
        let mut sent = 0_usize;
        let reading = async {
            let mut bytes = vec![0; 4096];
            let n = from.read(&mut bytes).await.unwrap();
            String::from_utf8_lossy(&bytes[..n]).into_owned()
        };
        let sending = async {
            while to.write_all(chunk.as_bytes()).await.is_ok() {
                sent += chunk.len();
                tokio::task::yield_now().await;
            }
            std::future::pending::<()>().await;
        };
        let response = tokio::select! {
            response = reading => response,
            () = sending => unreachable!(),
            () = tokio::time::sleep(Duration::from_secs(5)) => panic!("no response"),
        };
        assert!(response.starts_with("HTTP/1.1 413"), "{response}");
        assert!(sent < 16 << 20, "{sent} bytes were accepted");
    });
}

#[test]
fn a_truncated_body_stores_nothing() {
    testkit::block_on(async {
        let app = start().await;
        let body = thing("x").to_string();
        let mut stream = connect(&app).await;
        let request =
            format!("{}{}", head(&format!("content-length: {}\r\n", body.len())), &body[..body.len() - 1]);
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let response = read_to_end(stream).await;
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 400"), "{response}");
        let found = app.get("/v1/things").by(&User::of("a")).send().await.ok();
        assert_eq!(found, serde_json::json!([]));
    });
}

#[test]
fn urls_that_cannot_be_parsed_get_a_body() {
    testkit::block_on(async {
        let app = start().await;
        let error = |response: &str| -> serde_json::Value {
            serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
        };
        let raw = exchange(&app, "GET /v1/hear?must=m\u{f4}n HTTP/1.1\r\nhost: h\r\n\r\n".as_bytes()).await;
        assert!(raw.starts_with("HTTP/1.1 400 ") && raw.contains("x-request-id: "), "{raw}");
        assert_eq!(error(&raw)["code"], "malformed_body");
        assert!(error(&raw)["message"].as_str().unwrap().contains("percent-encoding"), "{raw}");
        for length in [66_000, 100_000, 200_000] {
            let url = format!("GET /v1/hear?must={} HTTP/1.1\r\nhost: h\r\n\r\n", "x".repeat(length));
            let response = exchange(&app, url.as_bytes()).await;
            assert!(response.starts_with("HTTP/1.1 414 "), "{length}: {response}");
            assert_eq!(error(&response)["code"], "payload_too_large");
        }
        let long = exchange(
            &app,
            format!(
                "GET /v1/hear?must={} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n",
                "x".repeat(60_000)
            )
            .as_bytes(),
        )
        .await;
        assert!(long.starts_with("HTTP/1.1 200 "), "{}", &long[..40]);
    });
}

#[test]
fn http_10_gets_no_chunks() {
    testkit::block_on(async {
        let app = start().await;
        let response = exchange(&app, b"GET /v1/pause HTTP/1.0\r\nhost: h\r\n\r\n").await;
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(!head.to_lowercase().contains("transfer-encoding"), "{head}");
        assert_eq!(body, "beginend");
        let chunked = exchange(&app, b"GET /v1/pause HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await;
        assert!(chunked.to_lowercase().contains("transfer-encoding: chunked"), "{chunked}");
    });
}
