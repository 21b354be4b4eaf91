//! Drain: the service reports that it stops and still answers, until it refuses new connections.

use std::future::pending;
use std::time::{Duration, Instant};

use testkit::{App, User};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::echo::{start_with, thing};
use crate::malformed_http::{connect, read_to_end};

const READYZ: &[u8] = b"GET /readyz HTTP/1.1\r\nhost: h\r\n\r\n";

async fn start(drain_seconds: u64) -> App {
    start_with(|config| {
        config.server.drain_seconds = drain_seconds;
        config.server.head_seconds = 60;
    })
    .await
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
        let app = start(60).await;
        let mut reused = connect(&app).await;
        reused.write_all(READYZ).await.unwrap();
        assert!(read_response(&mut reused).await.starts_with("HTTP/1.1 200"));
        let address = app.url.trim_start_matches("http://").to_owned();
        let (slow, error) = (app.get("/v1/sleep?ms=3000"), app.get("/v1/who").bearer("nobody"));
        let slow = tokio::spawn(slow.send());
        sleep(Duration::from_millis(100)).await;
        let (stop_now, stopped_now) = oneshot::channel::<()>();
        let drained = app.drain_and_stop(async {
            let _ = stopped_now.await;
        });
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
            stop_now.send(()).unwrap();
        };
        tokio::join!(drained, client);
    });
}

/// Connects before the drain, and sends a request when the listener refuses connections. Returns the response.
async fn request_after_the_last_accept() -> String {
    let app = start(1).await;
    let mut accepted = connect(&app).await;
    let address = app.url.trim_start_matches("http://").to_owned();
    let (started, drained) = (Instant::now(), app.drain_and_stop(pending()));
    let client = async {
        sleep(Duration::from_secs(1)).await;
        while TcpStream::connect(&address).await.is_ok() {
            assert!(started.elapsed() < Duration::from_secs(30), "connections are still accepted");
            sleep(Duration::from_millis(5)).await;
        }
        // Fails if the server has stopped.
        let _ = accepted.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n").await;
        read_to_end(accepted).await
    };
    tokio::join!(drained, client).1
}

#[test]
fn answers_on_accepted_connections_after_it_refuses_new_ones() {
    testkit::block_on(async {
        let is_complete =
            |response: &str| response.starts_with("HTTP/1.1 200") && response.contains("connection: close");
        let mut response = request_after_the_last_accept().await;
        // The server waits half a second for the request, which a busy machine may send too late.
        for _ in 0..4 {
            if is_complete(&response) {
                break;
            }
            response = request_after_the_last_accept().await;
        }
        assert!(is_complete(&response), "{response}");
    });
}

#[test]
fn a_second_signal_ends_the_drain() {
    testkit::block_on(async {
        let (app, started) = (start(60).await, Instant::now());
        app.drain_and_stop(sleep(Duration::from_millis(200))).await;
        let elapsed = started.elapsed();
        assert!(elapsed > Duration::from_millis(190) && elapsed < Duration::from_secs(30), "{elapsed:?}");
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
