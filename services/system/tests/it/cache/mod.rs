//! Tests of clearing the cache over HTTP, of outages of Redis, and of its check.

mod check;
mod clear;
mod outages;
mod secrets;

use serde_json::{Value, json};
use system::{Cache, Settings, System};
use testkit::{App, Backend, TestResponse, User};

use crate::fixtures::with_temp_store;

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
