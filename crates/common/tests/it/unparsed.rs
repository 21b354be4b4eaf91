//! Requests that reach no handler are counted. What is logged of them, and what is not counted:
//! `services/logistics/tests/it/operated.rs`.

use std::time::Duration;

use common::config::Server;
use testkit::{App, Backend, TestDatabase};

use crate::echo::Echo;
use crate::raw::exchange;

async fn counted(app: &App, status: u16) -> u64 {
    let metrics = app.get("/metrics").send().await.text();
    let name = format!("drover_unparsed_requests_total{{status=\"{status}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
    line.unwrap_or_else(|| panic!("{name} in {metrics}")).parse().unwrap()
}

/// True soon: a connection ends a moment after its last answer.
async fn grows(app: &App, status: u16, before: u64) -> bool {
    for _ in 0..100 {
        if counted(app, status).await > before {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

#[test]
fn unparsed_requests_are_counted_by_status() {
    testkit::block_on(async {
        let database = TestDatabase::new::<Echo>(Backend::Sqlite).await;
        let mut config = testkit::config::<Echo>(&database, ());
        config.server = Server { head_seconds: 1, ..Server::default() };
        let app = App::start_with::<Echo>(database, config).await;
        let long = format!("GET / HTTP/1.1\r\nhost: h\r\nx: {}", "y".repeat(200_000));
        let after_a_good_one = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\nnonsense\r\n\r\n";
        for (request, status) in
            [("nonsense\r\n\r\n", 400), (after_a_good_one, 400), (&*long, 431), ("GET / HT", 408)]
        {
            let before = counted(&app, status).await;
            let answer = exchange(&app, request.as_bytes()).await;
            assert!(answer.contains(&format!("HTTP/1.1 {status} ")), "{answer}");
            assert!(grows(&app, status, before).await, "{status}");
        }
    });
}
