//! Shutdown waits for requests in flight, and for nothing else.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::echo::{start, start_with};

#[test]
fn waits_for_a_request_in_flight() {
    testkit::block_on(async {
        let app = start().await;
        let url = app.url.clone();
        let slow = app.get("/v1/sleep?ms=700").send();
        let slow = tokio::spawn(slow);
        tokio::time::sleep(Duration::from_millis(200)).await;
        let started = Instant::now();
        app.stop().await;
        let elapsed = started.elapsed();
        assert!(elapsed > Duration::from_millis(300) && elapsed < Duration::from_secs(3), "{elapsed:?}");
        assert_eq!(slow.await.unwrap().ok(), 700);
        assert!(reqwest::get(url).await.is_err(), "it still answers");
    });
}

#[test]
fn does_not_wait_for_idle_connections() {
    testkit::block_on(async {
        let app = start().await;
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
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
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
        assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
        assert!(endless.await.unwrap().is_err());
    });
}
