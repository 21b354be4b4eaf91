//! A service whose Redis is away.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use system::{Settings, System};
use testkit::{App, Backend, TestDatabase, User};

use super::{asks, clear, cleared, over, start};

async fn readiness(app: &App) -> Value {
    let begun = Instant::now();
    let ready = app.get("/readyz").send().await.ok();
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    assert_eq!(ready["status"], "ok");
    ready["cache"].clone()
}

/// Refused, and everything else goes on.
async fn does_without(app: &App) {
    assert_eq!(readiness(app).await, "degraded");
    for what in [json!({"flush": true}), json!({"keys": ["a"]}), json!({"secrets": true})] {
        let refused = clear(app, what).await;
        assert!(refused.text().contains("The cache cannot be reached"), "{}", refused.text());
        assert_eq!(refused.header("retry-after"), "2");
        assert_eq!(refused.error(503), "dependency_unavailable");
    }
    assert_eq!(clear(app, json!({})).await.ok(), cleared("0 entries were"));
    assert_eq!(app.get("/v1/settings").by(&User::admin()).send().await.status, 200);
}

async fn comes_back(app: &App) {
    let begun = Instant::now();
    while readiness(app).await != "ok" {
        assert!(begun.elapsed() < Duration::from_secs(10), "it does not come back");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(clear(app, json!({"flush": true})).await.ok(), cleared("0 entries were"));
}

testkit::on_both! {
    async fn a_service_outlives_its_redis(backend) {
        let mut server = testkit::Redis::start();
        let (app, cache, _folder) = start(backend, over(&server.url())).await;
        assert_eq!(readiness(&app).await, "ok");
        asks(&cache, "a:b:1").await;
        server.stop();
        does_without(&app).await;
        server.restart();
        comes_back(&app).await;
    }

    async fn a_service_starts_before_its_redis(backend) {
        let mut server = testkit::Redis::start();
        server.stop();
        let (app, _, _folder) = start(backend, over(&server.url())).await;
        does_without(&app).await;
        server.restart();
        comes_back(&app).await;
    }
}

#[test]
fn a_wrong_address_keeps_it_from_starting() {
    testkit::block_on(async {
        let database = TestDatabase::new::<System>(Backend::Sqlite).await;
        let folder = tempfile::tempdir().unwrap();
        let store_url = format!("file://{}", folder.path().display());
        let settings = Settings { store_url, ..over("memcached://cache") };
        let error = common::start::<System>(testkit::config::<System>(&database, settings));
        let error = format!("{:#}", error.await.map(|_: common::Running| ()).unwrap_err());
        assert!(error.contains("service.cache_url"), "{error}");
    });
}
