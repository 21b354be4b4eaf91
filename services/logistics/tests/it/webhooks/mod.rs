//! The webhooks of organisations.

mod deliveries;
mod events;
mod fairness;
mod limits;
mod manage;
mod model;
mod replicas;
mod requests;
mod scope;

use testkit::{WebhookReceiver, wait_until};

use super::*;

/// Returns settings that allow receivers on this machine, with retries without backoff.
fn settings() -> Settings {
    Settings { webhook_allow_private: true, webhook_retry_seconds: 0, ..Settings::default() }
}

async fn start(backend: Backend) -> App {
    App::start::<Logistics>(backend, settings()).await
}

/// A receiver that acknowledges all requests.
async fn receiver() -> WebhookReceiver {
    WebhookReceiver::start(respond_with(200)).await
}

/// Creates a webhook of an organisation. Returns it with its secret.
async fn register(app: &App, organisation: &str, url: &str, events: &[&str]) -> Value {
    let form = json!({"url": url, "events": events});
    app.post("/v1/webhooks").by(&User::of(organisation)).json(&form).send().await.ok()
}

fn path(webhook: &Value) -> String {
    format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap())
}

/// Returns the deliveries of a webhook, newest first.
async fn deliveries(app: &App, webhook: &Value) -> Vec<Value> {
    let path = format!("{}/deliveries?limit=100", path(webhook));
    app.get(&path).by(&User::admin()).send().await.ok().as_array().unwrap().clone()
}

/// Waits until the webhook has this number of deliveries and all have this status.
async fn wait_for(app: &App, webhook: &Value, count: usize, status: &str) -> Vec<Value> {
    let mut all = Vec::new();
    wait_until(async || {
        all = deliveries(app, webhook).await;
        all.len() == count && all.iter().all(|delivery| delivery["status"] == status)
    })
    .await;
    all
}

/// Returns the members of `data` that say who caused an event.
fn actor(organisation: &str) -> Value {
    json!({"userId": User::of(organisation).claims["sub"], "organisationId": organisation})
}

/// Returns `data` of an event of a load, with further members.
fn data(organisation: &str, load: &Value, others: Value) -> Value {
    let mut data = actor(organisation);
    data.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    data["load"] = load.clone();
    data
}

/// Returns the body of a request to a receiver.
fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}
