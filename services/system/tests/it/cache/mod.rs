//! Tests of clearing the cache over HTTP and of outages of Redis.

mod clear;
mod outages;
mod secrets;

use std::time::Duration;

use serde_json::{Value, json};
use system::{Cache, Settings, System};
use testkit::{App, Backend, TestResponse, User};

use crate::with_temp_store;

/// Returns settings with a prefix that no other test uses.
pub fn empty_cache(url: &str) -> Settings {
    let cache_prefix = format!("test:{}:", database::Id::new());
    Settings { cache_url: url.into(), cache_prefix, ..Settings::default() }
}

/// Starts a service. Also returns its cache as another replica sees it, and the folder of the content store.
pub async fn start(backend: Backend, settings: Settings) -> (App, Cache, tempfile::TempDir) {
    let (settings, folder) = with_temp_store(settings);
    let cache = Cache::open(&settings).await.unwrap();
    (App::start::<System>(backend, settings).await, cache, folder)
}

/// Sends a request to clear the cache.
pub async fn clear(app: &App, request: Value) -> TestResponse {
    app.post("/v1/cache").by(&User::admin()).json(&request).send().await
}

/// Returns the response to a clear, for example of `2 entries were`.
pub fn cleared(entries: &str) -> Value {
    json!({"status": "success", "message": format!("{entries} cleared.")})
}

/// Reads a key and returns whether its value, the key itself, was fetched from the source.
pub async fn fetches(cache: &Cache, key: &str) -> bool {
    let mut fetched = false;
    let source = async || {
        fetched = true;
        Ok::<_, ()>(key.to_owned())
    };
    assert_eq!(cache.get_or(key, source).await.unwrap(), key);
    fetched
}

/// Runs a case, and again with the number of the attempt if a command to Redis failed meanwhile: a busy machine may
/// delay a command beyond its timeout of 250 ms, and then the cache is disconnected for a second.
pub async fn undisturbed<T>(app: &App, case: impl AsyncFn(usize) -> T) -> T {
    let failures = async || {
        let metrics = app.get("/metrics").send().await.text();
        let failures = metrics.lines().find(|line| line.starts_with("drover_cache_errors_total ")).unwrap();
        failures.to_owned()
    };
    for attempt in 0..20 {
        let before = failures().await;
        let observed = case(attempt).await;
        if failures().await == before {
            return observed;
        }
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
    panic!("a command to Redis failed in each of 20 attempts")
}
