//! What is counted while what a service depends on is gone, in a process of its own, where nobody else is.

use std::time::{Duration, Instant};

use system::System;
use testkit::{Backend, Process, TestDatabase, User};

/// Waits until the metrics have such a line.
async fn told(service: &Process, is_meant: impl Fn(&str) -> bool) {
    let begun = Instant::now();
    loop {
        let metrics = service.call("GET", "/metrics").send().await.text();
        if metrics.lines().any(&is_meant) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{metrics}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn what_is_not_answered_is_counted() {
    testkit::block_on(async {
        let database = TestDatabase::new::<System>(Backend::Postgres).await;
        let files = tempfile::tempdir().unwrap();
        let service = Process::start(
            env!("CARGO_BIN_EXE_system"),
            &[
                ("DATABASE__URL", &database.url),
                ("DATABASE__WAIT_MS", "500"),
                ("SERVICE__STORE_URL", &format!("file://{}", files.path().display())),
                // Nobody listens there.
                ("SERVICE__CACHE_URL", "redis://127.0.0.1:9"),
            ],
        );
        let counted = |line: &str, name: &str| {
            line.strip_prefix(name).is_some_and(|count| count.trim().parse::<u64>().is_ok_and(|n| n > 1))
        };
        told(&service, |line| counted(line, "drover_cache_errors_total ")).await;
        told(&service, |line| line == "drover_cache_bytes NaN").await;

        testkit::execute_on_server(&format!("DROP DATABASE {} WITH (FORCE)", database.name()));
        for _ in 0..2 {
            let path = "/v1/files/0190f5fe-0000-7000-8000-000000000000";
            assert_eq!(service.call("GET", path).by(&User::of("farm")).send().await.status, 503);
        }
        told(&service, |line| counted(line, "drover_database_given_up_total{reason=\"unreachable\"} ")).await;
        told(&service, |line| line == "drover_database_given_up_total{reason=\"silent\"} 0").await;
        told(&service, |line| line == "drover_database_calls_left 0").await;
    });
}
