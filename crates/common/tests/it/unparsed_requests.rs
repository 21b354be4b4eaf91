//! The metric of requests that reach no handler. `services/logistics/tests/it/operated.rs` tests how they are logged.

use std::time::Duration;

use common::config::Server;
use testkit::App;

use crate::echo::start_with;
use crate::malformed_http::exchange;

async fn count(app: &App, status: u16) -> u64 {
    let metrics = app.get("/metrics").send().await.text();
    let name = format!("drover_unparsed_requests_total{{status=\"{status}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
    line.unwrap_or_else(|| panic!("{name} in {metrics}")).parse().unwrap()
}

/// Waits until the count increases. A connection ends a moment after its last response.
async fn increases(app: &App, status: u16, before: u64) -> bool {
    for _ in 0..100 {
        if count(app, status).await > before {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

#[test]
fn counts_by_status() {
    testkit::block_on(async {
        let app = start_with(|config| config.server = Server { head_seconds: 1, ..Server::default() }).await;
        let long = format!("GET / HTTP/1.1\r\nhost: h\r\nx: {}", "y".repeat(200_000));
        let after_a_valid_one = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\nnonsense\r\n\r\n";
        for (request, status) in
            [("nonsense\r\n\r\n", 400), (after_a_valid_one, 400), (&*long, 431), ("GET / HT", 408)]
        {
            let before = count(&app, status).await;
            let response = exchange(&app, request.as_bytes()).await;
            assert!(response.contains(&format!("HTTP/1.1 {status} ")), "{response}");
            assert!(increases(&app, status, before).await, "{status}");
        }
    });
}
