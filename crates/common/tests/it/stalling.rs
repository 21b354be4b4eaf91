//! Clients that would be waited for without end.

use std::time::{Duration, Instant};

use common::config::Server;
use testkit::{App, Backend, TestDatabase};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::echo::Echo;

const HELLO: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n";

async fn start(server: Server) -> App {
    let database = TestDatabase::new::<Echo>(Backend::Sqlite).await;
    let mut config = testkit::config::<Echo>(&database, ());
    config.server = Server { workers: 2, shutdown_seconds: 5, ..server };
    App::start_with::<Echo>(database, config).await
}

fn hasty() -> Server {
    Server { head_seconds: 1, idle_seconds: 1, stalled_seconds: 1, ..Server::default() }
}

async fn connect(app: &App) -> TcpStream {
    TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap()
}

/// Asks for something long, so often that it is about so many bytes: how long it is at least, and how often.
async fn ask(app: &App, stream: &mut TcpStream, bytes: usize) -> (usize, usize) {
    let whole = app.get("/docs/swagger-ui-bundle.js").send().await.bytes.len();
    let request = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: h\r\n\r\n";
    stream.write_all(&request.repeat(bytes / whole)).await.unwrap();
    (whole, bytes / whole)
}

/// All that comes until the server closes, for ten seconds at most.
async fn rest(mut stream: TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut bytes)).await;
    read.is_ok().then_some(bytes)
}

#[test]
fn an_answer_that_nobody_takes_is_broken_off() {
    testkit::block_on(async {
        let app = start(hasty()).await;
        let mut stream = connect(&app).await;
        // More than the kernel takes.
        let (whole, times) = ask(&app, &mut stream, 24 << 20).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let came = rest(stream).await.expect("the connection was given up").len();
        assert!(came < whole * (times - 1), "{came} bytes of {times} times {whole}");
    });
}

#[test]
fn an_answer_that_is_taken_slowly_comes_to_its_end() {
    testkit::block_on(async {
        let app = start(Server { stalled_seconds: 3, ..hasty() }).await;
        let mut stream = connect(&app).await;
        let (whole, times) = ask(&app, &mut stream, 16 << 20).await;
        let (mut came, mut piece) = (0, vec![0; 2 << 20]);
        while came < whole * times {
            // Long pauses, but each shorter than what is waited.
            tokio::time::sleep(Duration::from_millis(600)).await;
            came += stream.read_exact(&mut piece[..(whole * times - came).min(2 << 20)]).await.unwrap();
        }
    });
}

#[test]
fn an_answer_is_not_broken_off_while_it_is_waited_to_be_taken() {
    testkit::block_on(async {
        let app = start(Server { stalled_seconds: 60, ..hasty() }).await;
        let mut stream = connect(&app).await;
        let (whole, times) = ask(&app, &mut stream, 24 << 20).await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        stream.read_exact(&mut vec![0; whole * times]).await.unwrap();
    });
}

/// Whatever the kernel would hold by itself.
#[test]
fn a_client_who_takes_little_all_the_while_is_not_given_up() {
    testkit::block_on(async {
        let app = start(Server { stalled_seconds: 2, ..hasty() }).await;
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(64 << 10).unwrap();
        let address = app.url.trim_start_matches("http://").parse().unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        let (whole, times) = ask(&app, &mut stream, 16 << 20).await;
        let mut bytes = vec![0; whole * times];
        let (slowly, rest) = bytes.split_at_mut(5 << 19);
        for piece in slowly.chunks_mut(100 << 10) {
            tokio::time::sleep(Duration::from_millis(250)).await;
            stream.read_exact(piece).await.unwrap();
        }
        stream.read_exact(rest).await.unwrap();
    });
}

#[test]
fn a_second_head_that_does_not_end_is_given_up() {
    testkit::block_on(async {
        let app = start(hasty()).await;
        let mut stream = connect(&app).await;
        stream.write_all(&[HELLO, b"GET / H"].concat()).await.unwrap();
        let answer = rest(stream).await.expect("the connection was given up");
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    });
}

#[test]
fn what_was_refused_is_not_listened_to_for_ever() {
    testkit::block_on(async {
        let app = start(hasty()).await;
        let stream = connect(&app).await;
        let (mut from, mut to) = stream.into_split();
        let head = "POST /v1/things HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        to.write_all(head.as_bytes()).await.unwrap();
        let sending = async {
            while to.write_all(b"1\r\n \r\n").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let mut answer = Vec::new();
        tokio::select! {
            _ = from.read_to_end(&mut answer) => {}
            () = sending => {}
            () = tokio::time::sleep(Duration::from_secs(10)) => panic!("it is still listened to"),
        }
        assert!(answer.starts_with(b"HTTP/1.1 401"), "{}", String::from_utf8_lossy(&answer));
    });
}

#[test]
fn a_request_that_takes_long_is_not_given_up() {
    testkit::block_on(async {
        let app = start(hasty()).await;
        assert_eq!(app.get("/v1/sleep?ms=3500").send().await.ok(), 3500);
    });
}

#[test]
fn an_answer_that_pauses_is_not_given_up() {
    testkit::block_on(async {
        let app = start(hasty()).await;
        for coding in ["identity", "gzip"] {
            let mut stream = connect(&app).await;
            let head =
                format!("GET /v1/pause?ms=3500 HTTP/1.1\r\nhost: h\r\naccept-encoding: {coding}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let answer = rest(stream).await.expect("it is idle afterwards");
            assert!(answer.ends_with(b"\r\n0\r\n\r\n"), "{}", String::from_utf8_lossy(&answer));
        }
    });
}

#[test]
fn connections_beyond_the_most_wait_for_others_to_end() {
    testkit::block_on(async {
        let app = start(Server { connections: 2, ..hasty() }).await;
        let silent = [connect(&app).await, connect(&app).await];
        let started = Instant::now();
        let mut third = connect(&app).await;
        third.write_all(HELLO).await.unwrap();
        let mut begin = [0; 12];
        third.read_exact(&mut begin).await.unwrap();
        let took = started.elapsed();
        assert_eq!(&begin, b"HTTP/1.1 200");
        assert!(took > Duration::from_millis(500) && took < Duration::from_secs(9), "{took:?}");
        drop(silent);
    });
}
