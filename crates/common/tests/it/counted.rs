//! What is counted of requests, in a process of its own, where nobody else is.

use std::process::Command;
use std::time::{Duration, Instant};

use testkit::{App, Backend, User};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::echo::Echo;

const ALONE: &str = "DROVER_TEST_ALONE";

/// Waits until so many requests are under way, with the one that asks.
async fn under_way(app: &App, count: u32) {
    let (line, begun) = (format!("\ndrover_requests_in_flight {count}\n"), Instant::now());
    loop {
        let told = app.get("/metrics").send().await.text();
        if told.contains(&line) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "not {count}: {told}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn whoever_hangs_up_and_what_panics_is_under_way_no_more() {
    if std::env::var_os(ALONE).is_none() {
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "counted::whoever_hangs_up_and_what_panics_is_under_way_no_more"]);
        let ended = alone.env(ALONE, "1").output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
        assert!(String::from_utf8_lossy(&ended.stdout).contains("1 passed"));
        return;
    }
    testkit::block_on(async {
        let app = App::start::<Echo>(Backend::Sqlite, ()).await;
        under_way(&app, 1).await;
        let mut client = TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
        // More than the kernel takes.
        let request = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: h\r\n\r\n";
        client.write_all(&request.repeat(50)).await.unwrap();
        under_way(&app, 2).await;
        drop(client);
        under_way(&app, 1).await;
        assert_eq!(app.get("/v1/panic").by(&User::of("a")).send().await.status, 500);
        under_way(&app, 1).await;
    });
}
