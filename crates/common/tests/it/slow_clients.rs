//! Timeouts for clients that stall, and the limit on connections.

use std::time::{Duration, Instant};

use common::config::Server;
use testkit::{App, User};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::echo::start_with;
use crate::malformed_http::connect;

const HEALTHZ: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n";

async fn start(server: Server) -> App {
    start_with(|config| config.server = Server { workers: 2, shutdown_seconds: 5, ..server }).await
}

/// Returns the shortest timeouts.
fn short_timeouts() -> Server {
    Server { head_seconds: 1, idle_seconds: 1, stalled_seconds: 1, ..Server::default() }
}

/// Requests a large file repeatedly on one connection, for about this many bytes. Returns the connection, the size of
/// the file and the number of requests. Connects last, since the server closes a connection that is silent for long.
async fn request_bytes(
    app: &App,
    connecting: impl Future<Output = TcpStream>,
    bytes: usize,
) -> (TcpStream, usize, usize) {
    let whole = app.get("/docs/swagger-ui-bundle.js").send().await.bytes.len();
    let request = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: h\r\n\r\n";
    let mut stream = connecting.await;
    stream.write_all(&request.repeat(bytes / whole)).await.unwrap();
    (stream, whole, bytes / whole)
}

/// Reads until the server closes the connection. Returns `None` if it is open after ten seconds.
async fn read_until_closed(mut stream: TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut bytes)).await;
    read.is_ok().then_some(bytes)
}

#[test]
fn aborts_a_response_that_is_not_read() {
    testkit::block_on(async {
        let app = start(short_timeouts()).await;
        // More than the kernel buffers.
        let (stream, whole, times) = request_bytes(&app, connect(&app), 24 << 20).await;
        tokio::time::sleep(Duration::from_secs(6)).await;
        let received = read_until_closed(stream).await.expect("the connection is closed").len();
        assert!(received < whole * (times - 1), "{received} bytes of {times} times {whole}");
    });
}

#[test]
fn completes_a_response_that_is_read_with_pauses() {
    testkit::block_on(async {
        let app = start(Server { stalled_seconds: 3, ..short_timeouts() }).await;
        let (mut stream, whole, times) = request_bytes(&app, connect(&app), 16 << 20).await;
        let (mut received, mut piece) = (0, vec![0; 2 << 20]);
        while received < whole * times {
            // Each pause is shorter than the timeout.
            tokio::time::sleep(Duration::from_millis(600)).await;
            received +=
                stream.read_exact(&mut piece[..(whole * times - received).min(2 << 20)]).await.unwrap();
        }
    });
}

#[test]
fn a_blocked_response_is_not_idle() {
    testkit::block_on(async {
        let app = start(Server { stalled_seconds: 60, ..short_timeouts() }).await;
        let (mut stream, whole, times) = request_bytes(&app, connect(&app), 24 << 20).await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        stream.read_exact(&mut vec![0; whole * times]).await.unwrap();
    });
}

/// Depends on the send buffer: the kernel's default is so large that this client would seem to read nothing.
#[test]
fn completes_a_response_that_is_read_slowly() {
    testkit::block_on(async {
        let app = start(Server { stalled_seconds: 4, ..short_timeouts() }).await;
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(64 << 10).unwrap();
        let address = app.url.trim_start_matches("http://").parse().unwrap();
        let connecting = async { socket.connect(address).await.unwrap() };
        let (mut stream, whole, times) = request_bytes(&app, connecting, 16 << 20).await;
        let mut bytes = vec![0; whole * times];
        let (slowly, rest) = bytes.split_at_mut(5 << 19);
        for piece in slowly.chunks_mut(100 << 10) {
            tokio::time::sleep(Duration::from_millis(500)).await;
            stream.read_exact(piece).await.unwrap();
        }
        stream.read_exact(rest).await.unwrap();
    });
}

#[test]
fn times_out_an_incomplete_second_head() {
    testkit::block_on(async {
        let app = start(short_timeouts()).await;
        let mut stream = connect(&app).await;
        stream.write_all(&[HEALTHZ, b"GET / H"].concat()).await.unwrap();
        let response = read_until_closed(stream).await.expect("the connection is closed");
        assert!(response.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&response));
    });
}

#[test]
fn stops_reading_a_refused_body() {
    testkit::block_on(async {
        let app = start(short_timeouts()).await;
        let stream = connect(&app).await;
        let (mut from, mut to) = stream.into_split();
        let head = "POST /v1/things HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        to.write_all(head.as_bytes()).await.unwrap();
        let sending = async {
            while to.write_all(b"1\r\n \r\n").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            // The response is complete only when it has been read.
            std::future::pending::<()>().await;
        };
        let mut response = Vec::new();
        tokio::select! {
            _ = from.read_to_end(&mut response) => {}
            () = sending => unreachable!(),
            () = tokio::time::sleep(Duration::from_secs(10)) => panic!("the body is still read"),
        }
        assert!(response.starts_with(b"HTTP/1.1 401"), "{}", String::from_utf8_lossy(&response));
    });
}

#[test]
fn heads_and_bodies_that_are_sent_slowly_are_refused() {
    testkit::block_on(async {
        let app = start(short_timeouts()).await;
        let body = format!(
            "POST /v1/things HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: 100000\r\n\r\n{{",
            User::of("a").token()
        );
        for (beginning, status) in [("GET / HTTP/1.1\r\n".to_owned(), "408"), (body, "400")] {
            let (mut from, mut to) = connect(&app).await.into_split();
            to.write_all(beginning.as_bytes()).await.unwrap();
            let sending = async {
                while to.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                std::future::pending::<()>().await;
            };
            let mut begin = [0; 12];
            tokio::select! {
                result = from.read_exact(&mut begin) => { result.unwrap(); }
                () = sending => unreachable!(),
                () = tokio::time::sleep(Duration::from_secs(10)) => panic!("no response instead of {status}"),
            }
            assert_eq!(&begin[9..], status.as_bytes());
        }
    });
}

#[test]
fn a_slow_handler_is_not_timed_out() {
    testkit::block_on(async {
        let app = start(short_timeouts()).await;
        assert_eq!(app.get("/v1/sleep?ms=3500").send().await.ok(), 3500);
    });
}

#[test]
fn a_response_that_pauses_is_not_timed_out() {
    testkit::block_on(async {
        let app = start(short_timeouts()).await;
        for coding in ["identity", "gzip"] {
            let mut stream = connect(&app).await;
            let head =
                format!("GET /v1/pause?ms=3500 HTTP/1.1\r\nhost: h\r\naccept-encoding: {coding}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let response = read_until_closed(stream).await.expect("the idle connection is closed");
            assert!(response.ends_with(b"\r\n0\r\n\r\n"), "{}", String::from_utf8_lossy(&response));
        }
    });
}

#[test]
fn connections_beyond_the_limit_wait_for_others_to_end() {
    testkit::block_on(async {
        let app = start(Server { connections: 2, ..short_timeouts() }).await;
        let started = Instant::now();
        let silent = [connect(&app).await, connect(&app).await];
        let mut third = connect(&app).await;
        third.write_all(HEALTHZ).await.unwrap();
        let mut begin = [0; 12];
        third.read_exact(&mut begin).await.unwrap();
        let elapsed = started.elapsed();
        assert_eq!(&begin, b"HTTP/1.1 200");
        assert!(elapsed > Duration::from_millis(500) && elapsed < Duration::from_secs(9), "{elapsed:?}");
        drop(silent);
    });
}
