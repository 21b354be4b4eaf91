//! A stop lets requests in flight finish and waits for nobody else.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::echo::start;

#[test]
fn a_request_in_flight_finishes() {
    testkit::block_on(async {
        let app = start().await;
        let url = app.url.clone();
        let slow = app.get("/v1/sleep?ms=700").send();
        let stopping = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        let slow = tokio::spawn(slow);
        stopping.await;
        let started = Instant::now();
        app.stop().await;
        let took = started.elapsed();
        assert!(took > Duration::from_millis(300) && took < Duration::from_secs(3), "{took:?}");
        assert_eq!(slow.await.unwrap().ok(), 700);
        assert!(reqwest::get(url).await.is_err(), "it still answers");
    });
}

#[test]
fn connections_that_only_wait_do_not_delay_it() {
    testkit::block_on(async {
        let app = start().await;
        let address = app.url.trim_start_matches("http://").to_owned();
        let mut idle = Vec::new();
        for i in 0..10 {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            // Some were used, some never said a word, some stopped in the middle of a head.
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
fn a_request_that_never_ends_is_broken_off() {
    testkit::block_on(async {
        let database = testkit::TestDatabase::new::<crate::echo::Echo>(testkit::Backend::Sqlite).await;
        let mut config = testkit::config::<crate::echo::Echo>(&database, ());
        config.server.shutdown_seconds = 1;
        let app = testkit::App::start_with::<crate::echo::Echo>(database, config).await;
        let endless = tokio::spawn(reqwest::get(format!("{}/v1/sleep?ms=60000", app.url)));
        tokio::time::sleep(Duration::from_millis(100)).await;
        let started = Instant::now();
        app.stop().await;
        assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
        assert!(endless.await.unwrap().is_err());
    });
}
