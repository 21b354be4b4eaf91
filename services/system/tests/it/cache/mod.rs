//! Clearing the cache over HTTP: what goes, who may, and what happens without Redis.

mod clear;
mod outages;
mod secrets;

use serde_json::{Value, json};
use system::{Cache, Settings, System};
use testkit::{App, Backend, TestResponse, User};

/// Settings over a Redis where nothing was ever kept.
pub fn over(url: &str) -> Settings {
    let cache_prefix = format!("test:{}:", database::Id::new());
    Settings { cache_url: url.into(), cache_prefix, ..Settings::default() }
}

/// A service, and its cache as another replica would have it.
pub async fn start(backend: Backend, settings: Settings) -> (App, Cache, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store_url = format!("file://{}", folder.path().display());
    let settings = Settings { store_url, ..settings };
    let cache = Cache::open(&settings).await.unwrap();
    (App::start::<System>(backend, settings).await, cache, folder)
}

/// Asks a service to clear its cache.
pub async fn clear(app: &App, what: Value) -> TestResponse {
    app.post("/v1/cache").by(&User::admin()).json(&what).send().await
}

/// What it answers when so many entries went.
pub fn cleared(count: &str) -> Value {
    json!({"status": "success", "message": format!("{count} cleared.")})
}

/// Reads this key of a source that says its name, and tells whether it was asked.
pub async fn asks(cache: &Cache, key: &str) -> bool {
    let mut asked = false;
    let source = async || {
        asked = true;
        Ok::<_, ()>(key.to_owned())
    };
    assert_eq!(cache.get_or(key, source).await.unwrap(), key);
    asked
}
