//! Metrics during an outage of dependencies. The service runs in its own process, because metrics are global.

use std::time::{Duration, Instant};

use system::System;
use testkit::{Backend, Process, TestDatabase, User};

use crate::{UNREACHABLE, store_url};

/// How long a line of the metrics may take. The lines appear within seconds, unless the machine is busy.
const METRICS_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until a line of the metrics matches.
async fn wait_for_line(service: &Process, matches: impl Fn(&str) -> bool) {
    let begun = Instant::now();
    loop {
        let metrics = service.call("GET", "/metrics").send().await.text();
        if metrics.lines().any(&matches) {
            return;
        }
        assert!(begun.elapsed() < METRICS_TIMEOUT, "{metrics}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn counts_failed_calls_of_redis_and_postgres() {
    testkit::block_on(async {
        let database = TestDatabase::new::<System>(Backend::Postgres).await;
        let folder = tempfile::tempdir().unwrap();
        let service = Process::start(
            env!("CARGO_BIN_EXE_system"),
            &[
                ("DATABASE__URL", &database.url),
                ("DATABASE__WAIT_MS", "500"),
                ("SERVICE__STORE_URL", &store_url(&folder)),
                ("SERVICE__CACHE_URL", &format!("redis://{UNREACHABLE}")),
            ],
        );
        let is_above_one = |line: &str, name: &str| {
            line.strip_prefix(name).is_some_and(|count| count.trim().parse::<u64>().is_ok_and(|n| n > 1))
        };
        wait_for_line(&service, |line| is_above_one(line, "drover_cache_errors_total ")).await;
        wait_for_line(&service, |line| line == "drover_cache_bytes NaN").await;

        testkit::execute_on_server(&format!("DROP DATABASE {} WITH (FORCE)", database.name()));
        for _ in 0..2 {
            let path = "/v1/files/0190f5fe-0000-7000-8000-000000000000";
            assert_eq!(service.call("GET", path).by(&User::of("farm")).send().await.status, 503);
        }
        wait_for_line(&service, |line| {
            is_above_one(line, "drover_database_given_up_total{reason=\"unreachable\"} ")
        })
        .await;
        wait_for_line(&service, |line| line == "drover_database_given_up_total{reason=\"silent\"} 0").await;
        wait_for_line(&service, |line| line == "drover_database_calls_left 0").await;
    });
}
