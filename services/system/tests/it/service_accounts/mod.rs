//! Service accounts, their tokens, and the keys of these.

mod attacks;
mod keys;
mod manage;
mod model;
mod token;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use common::config::Config;
use serde_json::{Value, json};
use system::{Settings, System};
use testkit::{App, Backend, TestDatabase, TestResponse, User};

use crate::with_temp_store;

pub const FORM: &str = "application/x-www-form-urlencoded";

/// A running service and the folder of its content store.
struct Started {
    app: App,
    _folder: tempfile::TempDir,
}

async fn start(backend: Backend) -> Started {
    start_with(backend, |_| ()).await
}

async fn start_with(backend: Backend, change: impl FnOnce(&mut Config<Settings>)) -> Started {
    let database = TestDatabase::new::<System>(backend).await;
    let (settings, folder) = with_temp_store(Settings::default());
    let mut config = testkit::config::<System>(&database, settings);
    change(&mut config);
    Started { app: App::start_with::<System>(database, config).await, _folder: folder }
}

/// Creates a service account.
async fn create(app: &App, user: &User, form: Value) -> Value {
    app.post("/v1/service-accounts").by(user).json(&form).send().await.ok()
}

/// Returns the path of a service account.
pub fn path(account: &Value) -> String {
    format!("/v1/service-accounts/{}", account["id"].as_str().unwrap())
}

/// Returns the form with the credentials of a service account.
pub fn credentials(account: &Value) -> String {
    let text = |name: &str| account[name].as_str().unwrap();
    let (id, secret) = (text("clientId"), text("clientSecret"));
    format!("grant_type=client_credentials&client_id={id}&client_secret={secret}")
}

/// Returns the header `Authorization` with the credentials of a service account.
fn basic(account: &Value) -> String {
    let text = |name: &str| account[name].as_str().unwrap();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", text("clientId"), text("clientSecret"))))
}

async fn request_token(app: &App, form: String) -> TestResponse {
    app.post("/v1/token").body(FORM, form).send().await
}

/// Returns a token of a service account.
async fn token(app: &App, account: &Value) -> String {
    let response = request_token(app, credentials(account)).await.ok();
    response["access_token"].as_str().unwrap().to_owned()
}

/// Returns a part of a token: 0 for the header, 1 for the claims.
pub fn decoded(token: &str, part: usize) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(part).unwrap()).unwrap()).unwrap()
}

/// Returns the `error` of a response of the token endpoint, whose status this must be.
fn oauth_error(response: TestResponse, status: u16) -> String {
    assert_eq!(response.status, status, "{}", response.text());
    assert_eq!(response.header("cache-control"), "no-store");
    let body = response.json();
    assert!(body["error_description"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    assert_eq!(body.as_object().unwrap().len(), 2, "{body}");
    body["error"].as_str().unwrap().to_owned()
}

/// Returns the status of a request that every caller may make.
async fn status(app: &App, token: &str) -> u16 {
    app.get("/v1/files/usage").bearer(token).send().await.status
}

pub fn named(name: &str) -> Value {
    json!({ "name": name })
}
