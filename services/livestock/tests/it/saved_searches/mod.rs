//! Saved searches, and the listings that match them.

mod crud;
mod erasure;
mod limits;
mod listings;
mod matching;
mod model;
mod parameters;
mod replicas;

use serde_json::{Value, json};
use testkit::{App, Backend, User, wait_until};

/// Saves a search and returns its path.
pub async fn save(app: &App, user: &User, parameters: Value, notify: bool) -> String {
    let form = json!({"name": "mine", "parameters": parameters, "notify": notify});
    let saved = app.post("/v1/saved-searches").by(user).json(&form).send().await.ok();
    format!("/v1/saved-searches/{}", saved["id"].as_str().unwrap())
}

/// Returns `newMatches` of a saved search.
async fn new_matches(app: &App, user: &User, path: &str) -> Value {
    app.get(path).by(user).send().await.ok()["newMatches"].take()
}

/// Returns the number of stored matches.
fn stored_matches(app: &App, backend: Backend) -> i64 {
    let numbers = backend.numbers(1_000);
    app.database.count(&format!("matched_listings JOIN {numbers} ON n <= length(searches) / 16"))
}

/// Waits until all events of listings are matched.
async fn wait_until_matched(app: &App, backend: Backend) {
    let order = match backend {
        Backend::Sqlite => "n > (SELECT event FROM saved_search_cursor)",
        Backend::Postgres => "(position, n) > (SELECT position, event FROM saved_search_cursor)",
    };
    wait_until(async || app.database.count(&format!("listing_events WHERE {order}")) == 0).await;
}
