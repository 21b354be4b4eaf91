//! Outages of Redis.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use system::System;
use testkit::{App, Backend, TestDatabase, User};

use super::{clear, cleared, empty_cache, fetches, start};
use crate::with_temp_store;

/// Returns the state of the cache that `/readyz` reports. Asserts that it reports it soon, at least once in five times:
/// a busy machine delays some requests, and waiting for Redis would delay each.
async fn readiness(app: &App) -> Value {
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        let ready = app.get("/readyz").send().await;
        fastest = fastest.min(begun.elapsed());
        if ready.status == 200 && fastest < Duration::from_millis(500) {
            return ready.json()["cache"].clone();
        }
    }
    panic!("not ready, or after {fastest:?}")
}

/// Waits until the cache is connected.
async fn wait_until_connected(app: &App) {
    let begun = Instant::now();
    while readiness(app).await != "ok" {
        assert!(begun.elapsed() < Duration::from_secs(30), "the cache does not recover");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Asserts that clears fail and other requests succeed.
async fn works_without_cache(app: &App) {
    assert_eq!(readiness(app).await, "degraded");
    for request in [json!({"flush": true}), json!({"keys": ["a"]}), json!({"secrets": true})] {
        let reply = clear(app, request).await;
        assert!(reply.text().contains("The cache cannot be reached"), "{}", reply.text());
        assert_eq!(reply.header("retry-after"), "2");
        assert_eq!(reply.error(503), "dependency_unavailable");
    }
    assert_eq!(clear(app, json!({})).await.ok(), cleared("0 entries were"));
    assert_eq!(app.get("/v1/settings").by(&User::admin()).send().await.status, 200);
}

/// Waits until the cache works again.
async fn wait_for_recovery(app: &App) {
    wait_until_connected(app).await;
    let begun = Instant::now();
    loop {
        let reply = clear(app, json!({"flush": true})).await;
        // A command that a busy machine delays disconnects the cache once more.
        if reply.status != 503 || begun.elapsed() > Duration::from_secs(30) {
            assert_eq!(reply.ok(), cleared("0 entries were"));
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

testkit::on_both! {
    async fn service_survives_a_redis_outage(backend) {
        let mut server = testkit::Redis::start();
        let (app, cache, _folder) = start(backend, empty_cache(&server.url())).await;
        wait_until_connected(&app).await;
        fetches(&cache, "a:b:1").await;
        server.stop();
        works_without_cache(&app).await;
        server.restart();
        wait_for_recovery(&app).await;
    }

    async fn service_starts_without_redis(backend) {
        let mut server = testkit::Redis::start();
        server.stop();
        let (app, _, _folder) = start(backend, empty_cache(&server.url())).await;
        works_without_cache(&app).await;
        server.restart();
        wait_for_recovery(&app).await;
    }
}

#[test]
fn invalid_cache_url_prevents_the_start() {
    testkit::block_on(async {
        let database = TestDatabase::new::<System>(Backend::Sqlite).await;
        let (settings, _folder) = with_temp_store(empty_cache("memcached://cache"));
        let error = common::start::<System>(testkit::config::<System>(&database, settings));
        let error = format!("{:#}", error.await.map(|_: common::Running| ()).unwrap_err());
        assert!(error.contains("service.cache_url"), "{error}");
    });
}
