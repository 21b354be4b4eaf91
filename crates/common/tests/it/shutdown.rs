//! Shutdown waits for requests in flight, and for nothing else.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::echo::start_with;
use crate::malformed_http::{connect, read_to_end};

#[test]
fn waits_for_a_request_in_flight() {
    testkit::block_on(async {
        let app = start_with(|config| {
            config.server.workers = 1;
            config.server.shutdown_seconds = 60;
        });
        let app = app.await;
        let url = app.url.clone();
        let [mut slow, mut paused] = [connect(&app).await, connect(&app).await];
        slow.write_all(b"GET /v1/sleep?ms=2000 HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        paused.write_all(b"GET /v1/pause?ms=2000 HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        // The only worker serves connections in order, so both requests are in flight once the second response begins.
        let mut response = Vec::new();
        while !response.ends_with(b"begin\r\n") {
            assert!(paused.read_buf(&mut response).await.unwrap() > 0, "the response ends");
        }
        app.stop().await;
        let slow = read_to_end(slow).await;
        assert!(slow.starts_with("HTTP/1.1 200") && slow.ends_with("\r\n\r\n2000"), "{slow}");
        let rest = read_to_end(paused).await;
        assert!(rest.ends_with("end\r\n0\r\n\r\n"), "{rest}");
        assert!(reqwest::get(url).await.is_err(), "it still answers");
    });
}

#[test]
fn does_not_wait_for_idle_connections() {
    testkit::block_on(async {
        let app = start_with(|config| {
            config.server.head_seconds = 600;
            config.server.idle_seconds = 600;
            config.server.shutdown_seconds = 60;
        });
        let app = app.await;
        let address = app.url.trim_start_matches("http://").to_owned();
        let mut idle = Vec::new();
        for i in 0..10 {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            // Some connections were used, some are in the middle of a head, some have sent nothing.
            match i % 3 {
                0 => {
                    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
                    assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
                }
                1 => stream.write_all(b"GET /healthz HT").await.unwrap(),
                _ => {}
            }
            idle.push(stream);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        let started = Instant::now();
        app.stop().await;
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    });
}

#[test]
fn aborts_requests_after_the_timeout() {
    testkit::block_on(async {
        let app = start_with(|config| config.server.shutdown_seconds = 1).await;
        let endless = tokio::spawn(reqwest::get(format!("{}/v1/sleep?ms=60000", app.url)));
        tokio::time::sleep(Duration::from_millis(100)).await;
        let started = Instant::now();
        app.stop().await;
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        assert!(endless.await.unwrap().is_err());
    });
}
