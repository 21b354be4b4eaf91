//! The gauge of requests in flight, in a process of its own, because metrics are global.

use std::process::Command;
use std::time::{Duration, Instant};

use testkit::{App, Backend, User};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::echo::Echo;

/// Set in the process that runs only this test.
const CHILD_PROCESS: &str = "DROVER_TEST_ALONE";

/// Waits until this many requests are in flight, including the request for the metrics.
async fn wait_for_in_flight(app: &App, count: u32) {
    let (expected, started) = (format!("drover_requests_in_flight {count}"), Instant::now());
    loop {
        let metrics = app.get("/metrics").send().await.text();
        let line = metrics.lines().find(|line| line.starts_with("drover_requests_in_flight "));
        if line == Some(&expected) {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{line:?}, not {expected}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn excludes_closed_connections_and_panics() {
    if std::env::var_os(CHILD_PROCESS).is_none() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "in_flight_gauge::excludes_closed_connections_and_panics"]);
        let output = child.env(CHILD_PROCESS, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        return;
    }
    testkit::block_on(async {
        let app = App::start::<Echo>(Backend::Sqlite, ()).await;
        wait_for_in_flight(&app, 1).await;
        let mut client = TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
        client.write_all(b"GET /v1/large-stream HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        wait_for_in_flight(&app, 2).await;
        drop(client);
        wait_for_in_flight(&app, 1).await;
        assert_eq!(app.get("/v1/panic").by(&User::of("a")).send().await.status, 500);
        wait_for_in_flight(&app, 1).await;
    });
}
