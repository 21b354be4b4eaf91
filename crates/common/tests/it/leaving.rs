//! A service that leaves says so and answers what still comes, until nobody is let in any more.

use std::future::pending;
use std::time::{Duration, Instant};

use testkit::{App, Backend, TestDatabase, User};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::echo::Echo;
use crate::raw::{connect, rest};

const ASK: &[u8] = b"GET /readyz HTTP/1.1\r\nhost: h\r\n\r\n";

async fn start(drain_seconds: u64) -> App {
    let database = TestDatabase::new::<Echo>(Backend::Sqlite).await;
    let mut config = testkit::config::<Echo>(&database, ());
    config.server.drain_seconds = drain_seconds;
    App::start_with::<Echo>(database, config).await
}

/// One answer, from a connection that may stay open.
async fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = [0; 4096];
    let read = tokio::time::timeout(Duration::from_secs(5), stream.read(&mut bytes)).await;
    String::from_utf8_lossy(&bytes[..read.unwrap().unwrap()]).into_owned()
}

#[test]
fn it_says_so_and_goes_on() {
    testkit::block_on(async {
        let app = start(1).await;
        let (mut kept, mut silent) = (connect(&app).await, connect(&app).await);
        kept.write_all(ASK).await.unwrap();
        assert!(answer(&mut kept).await.starts_with("HTTP/1.1 200"));
        let address = app.url.trim_start_matches("http://").to_owned();
        let (slow, error) = (app.get("/v1/sleep?ms=300"), app.get("/v1/who").bearer("nobody"));
        let slow = tokio::spawn(slow.send());
        sleep(Duration::from_millis(100)).await;
        let (began, leaving) = (Instant::now(), app.drain_and_stop(pending()));
        let seen = async {
            sleep(Duration::from_millis(100)).await;
            // On a connection that a proxy kept, and on a new one.
            for mut stream in [kept, TcpStream::connect(&address).await.unwrap()] {
                stream.write_all(ASK).await.unwrap();
                let said = rest(stream).await;
                assert!(
                    said.starts_with("HTTP/1.1 503") && said.contains(r#"{"status":"stopping"}"#),
                    "{said}"
                );
                assert!(said.contains("connection: close"), "{said}");
            }
            assert_eq!(slow.await.unwrap().header("connection"), "close", "begun before, ended meanwhile");
            assert_eq!(error.send().await.header("connection"), "close", "errors too");
            // The door is shut, and whoever was let in is still answered.
            sleep(Duration::from_secs(1).saturating_sub(began.elapsed())).await;
            while let Ok(let_in) = TcpStream::connect(&address).await {
                assert!(began.elapsed() < Duration::from_millis(1400), "the door is open");
                drop(let_in);
                sleep(Duration::from_millis(5)).await;
            }
            silent.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
            let said = rest(silent).await;
            assert!(said.starts_with("HTTP/1.1 200") && said.contains("connection: close"), "{said}");
        };
        tokio::join!(leaving, seen);
    });
}

#[test]
fn a_second_signal_cuts_it_short() {
    testkit::block_on(async {
        let (app, started) = (start(60).await, Instant::now());
        app.drain_and_stop(sleep(Duration::from_millis(200))).await;
        let took = started.elapsed();
        assert!(took > Duration::from_millis(190) && took < Duration::from_secs(3), "{took:?}");
    });
}

/// What a proxy does: it sends a request on a connection that it kept or on a new one, and who is refused goes elsewhere.
async fn hammer(address: String, token: String) -> usize {
    let head = format!(
        "POST /v1/things HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"
    );
    let thing = crate::echo::thing("a").to_string();
    let request = format!("{head}content-length: {}\r\n\r\n{thing}", thing.len());
    let (mut kept, mut answered) = (None, 0);
    loop {
        let mut stream = match kept.take() {
            Some(stream) => stream,
            None => match TcpStream::connect(&address).await {
                Ok(stream) => stream,
                Err(error) => {
                    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
                    return answered;
                }
            },
        };
        stream.write_all(request.as_bytes()).await.unwrap();
        let said = answer(&mut stream).await;
        assert!(said.starts_with("HTTP/1.1 200"), "after {answered}: {said:?}");
        answered += 1;
        kept = (!said.contains("connection: close")).then_some(stream);
    }
}

#[test]
fn under_load_no_request_is_lost() {
    testkit::block_on(async {
        let app = start(1).await;
        let (address, token) = (app.url.trim_start_matches("http://").to_owned(), User::of("a").token());
        let clients: Vec<_> = (0..16).map(|_| tokio::spawn(hammer(address.clone(), token.clone()))).collect();
        sleep(Duration::from_millis(300)).await;
        app.drain_and_stop(pending()).await;
        for client in clients {
            assert!(client.await.unwrap() > 0);
        }
    });
}
