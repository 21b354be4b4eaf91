//! Sending, delivery, delivery log and redelivery of notifications.

mod crash;
mod deduplication;
mod delivery;
mod fairness;
mod list;
mod redelivery;
mod replicas;
mod retention;
mod send;
mod webhook_settings;

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::*;

/// A receiver of webhooks on a free port.
struct Receiver(MockServer);

impl Receiver {
    /// Starts a receiver with this response.
    async fn start(response: impl Respond + 'static) -> Self {
        let server = MockServer::builder().start().await;
        Mock::given(any()).respond_with(response).mount(&server).await;
        Self(server)
    }

    /// Returns settings with this receiver and retries without backoff.
    fn settings(&self) -> Settings {
        Settings {
            webhook_url: Some(format!("{}/hook", self.0.uri()).parse().unwrap()),
            webhook_secrets: vec![secret(1).into()],
            webhook_allow_private: true,
            webhook_retry_seconds: 0,
            ..Settings::default()
        }
    }

    async fn requests(&self) -> Vec<Request> {
        self.0.received_requests().await.unwrap()
    }

    /// Waits for at least this many requests and returns all.
    async fn wait_for(&self, count: usize) -> Vec<Request> {
        let mut requests = Vec::new();
        wait_until(async || {
            requests = self.requests().await;
            requests.len() >= count
        })
        .await;
        requests
    }
}

/// Returns a response with this status.
fn respond_with(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status)
}

/// Returns a webhook secret. Different numbers give different secrets.
pub(super) fn secret(which: u8) -> String {
    format!("whsec_{}", STANDARD.encode([which; 32]))
}

/// Computes the signature of a message as a receiver does.
fn signature(request: &Request, which: u8) -> String {
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &[which; 32]);
    let mut signed = aws_lc_rs::hmac::Context::with_key(&key);
    for part in [header(request, "webhook-id"), ".", header(request, "webhook-timestamp"), "."] {
        signed.update(part.as_bytes());
    }
    signed.update(&request.body);
    format!("v1,{}", STANDARD.encode(signed.sign()))
}

fn header<'a>(request: &'a Request, name: &str) -> &'a str {
    request.headers[name].to_str().unwrap()
}

/// Polls until a condition holds, up to a minute.
async fn wait_until(mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(60), "the condition did not hold within a minute");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Sends a load of `haul` to the driver `dai`. Returns the id of the notification.
async fn send(app: &App, load: &str) -> String {
    send_to(app, load, "dai").await
}

/// Like [`send`], to this driver.
async fn send_to(app: &App, load: &str, driver: &str) -> String {
    let form = json!({"loadId": load, "driverId": driver});
    let sent = app.post("/v1/loads/send-to-driver").by(&User::of("haul")).json(&form).send().await.ok();
    assert_eq!(sent["status"], "success");
    sent["id"].as_str().unwrap().to_owned()
}

/// Reads the delivery log of a load as `haul`.
async fn delivery_log(app: &App, load: &str) -> Vec<Value> {
    delivery_log_as(app, "haul", load).await
}

/// Reads the delivery log of a load as this organisation.
async fn delivery_log_as(app: &App, organisation: &str, load: &str) -> Vec<Value> {
    let path = format!("/v1/loads/{load}/notifications");
    app.get(&path).by(&User::of(organisation)).send().await.ok().as_array().unwrap().clone()
}

/// Waits until the newest entry of the log has this status, asserts that it is the only one and returns it.
async fn wait_for_status(app: &App, load: &str, status: &str) -> Value {
    wait_for_status_as(app, "haul", load, status).await
}

/// Like [`wait_for_status`], for a load of this organisation.
async fn wait_for_status_as(app: &App, organisation: &str, load: &str, status: &str) -> Value {
    let mut entries = Vec::new();
    wait_until(async || {
        entries = delivery_log_as(app, organisation, load).await;
        entries[0]["status"] == status
    })
    .await;
    assert_eq!(entries.len(), 1);
    entries.remove(0)
}
