//! Drain: the service reports that it stops and still answers, until it refuses new connections.

use std::future::pending;
use std::time::{Duration, Instant};

use testkit::{App, User};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::echo::{start_with, thing};
use crate::malformed_http::{connect, read_to_end};

const READYZ: &[u8] = b"GET /readyz HTTP/1.1\r\nhost: h\r\n\r\n";

async fn start(drain_seconds: u64) -> App {
    start_with(|config| config.server.drain_seconds = drain_seconds).await
}

/// Reads one response from a connection that may stay open.
async fn read_response(stream: &mut TcpStream) -> String {
    let mut bytes = [0; 4096];
    let read = tokio::time::timeout(Duration::from_secs(5), stream.read(&mut bytes)).await;
    String::from_utf8_lossy(&bytes[..read.unwrap().unwrap()]).into_owned()
}

#[test]
fn reports_stopping_and_answers_requests() {
    testkit::block_on(async {
        let app = start(1).await;
        let (mut reused, mut silent) = (connect(&app).await, connect(&app).await);
        reused.write_all(READYZ).await.unwrap();
        assert!(read_response(&mut reused).await.starts_with("HTTP/1.1 200"));
        let address = app.url.trim_start_matches("http://").to_owned();
        let (slow, error) = (app.get("/v1/sleep?ms=300"), app.get("/v1/who").bearer("nobody"));
        let slow = tokio::spawn(slow.send());
        sleep(Duration::from_millis(100)).await;
        let (started, drained) = (Instant::now(), app.drain_and_stop(pending()));
        let client = async {
            sleep(Duration::from_millis(100)).await;
            // On a connection that was used before, and on a new one.
            for mut stream in [reused, TcpStream::connect(&address).await.unwrap()] {
                stream.write_all(READYZ).await.unwrap();
                let response = read_to_end(stream).await;
                assert!(
                    response.starts_with("HTTP/1.1 503") && response.contains(r#"{"status":"stopping"}"#),
                    "{response}"
                );
                assert!(response.contains("connection: close"), "{response}");
            }
            assert_eq!(slow.await.unwrap().header("connection"), "close", "begun before the drain");
            assert_eq!(error.send().await.header("connection"), "close", "errors");
            // New connections are refused, and accepted ones are still served.
            sleep(Duration::from_secs(1).saturating_sub(started.elapsed())).await;
            while let Ok(accepted) = TcpStream::connect(&address).await {
                assert!(started.elapsed() < Duration::from_millis(1400), "connections are still accepted");
                drop(accepted);
                sleep(Duration::from_millis(5)).await;
            }
            silent.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
            let response = read_to_end(silent).await;
            assert!(
                response.starts_with("HTTP/1.1 200") && response.contains("connection: close"),
                "{response}"
            );
        };
        tokio::join!(drained, client);
    });
}

#[test]
fn a_second_signal_ends_the_drain() {
    testkit::block_on(async {
        let (app, started) = (start(60).await, Instant::now());
        app.drain_and_stop(sleep(Duration::from_millis(200))).await;
        let elapsed = started.elapsed();
        assert!(elapsed > Duration::from_millis(190) && elapsed < Duration::from_secs(3), "{elapsed:?}");
    });
}

/// Sends POSTs as a proxy does, on the last connection or on a new one, until a connection is refused. Returns the
/// number of responses.
async fn post_until_refused(address: String, token: String) -> usize {
    let head = format!(
        "POST /v1/things HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"
    );
    let thing = thing("a").to_string();
    let request = format!("{head}content-length: {}\r\n\r\n{thing}", thing.len());
    let (mut reused, mut responses) = (None, 0);
    loop {
        let mut stream = match reused.take() {
            Some(stream) => stream,
            None => match TcpStream::connect(&address).await {
                Ok(stream) => stream,
                Err(error) => {
                    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
                    return responses;
                }
            },
        };
        stream.write_all(request.as_bytes()).await.unwrap();
        let response = read_response(&mut stream).await;
        assert!(response.starts_with("HTTP/1.1 200"), "after {responses}: {response:?}");
        responses += 1;
        reused = (!response.contains("connection: close")).then_some(stream);
    }
}

#[test]
fn loses_no_request_under_load() {
    testkit::block_on(async {
        let app = start(1).await;
        let (address, token) = (app.url.trim_start_matches("http://").to_owned(), User::of("a").token());
        let clients: Vec<_> =
            (0..16).map(|_| tokio::spawn(post_until_refused(address.clone(), token.clone()))).collect();
        sleep(Duration::from_millis(300)).await;
        app.drain_and_stop(pending()).await;
        for client in clients {
            assert!(client.await.unwrap() > 0);
        }
    });
}
