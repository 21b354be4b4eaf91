//! Notifications: sent, delivered, logged and redelivered.

mod collapse;
mod crash;
mod deliver;
mod fairness;
mod prune;
mod redeliver;
mod replicas;
mod send;
mod setup;

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::*;

/// A receiver of webhooks on a port of its own.
struct Receiver(MockServer);

impl Receiver {
    /// One that answers so.
    async fn start(answer: impl Respond + 'static) -> Self {
        let server = MockServer::builder().start().await;
        Mock::given(any()).respond_with(answer).mount(&server).await;
        Self(server)
    }

    /// A service that sends to it, and tries again at once.
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

    /// All requests, once there are so many.
    async fn has(&self, count: usize) -> Vec<Request> {
        let mut requests = Vec::new();
        eventually(async || {
            requests = self.requests().await;
            requests.len() >= count
        })
        .await;
        requests
    }
}

/// Always this status.
fn answer(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status)
}

/// One of some secrets.
fn secret(which: u8) -> String {
    format!("whsec_{}", STANDARD.encode([which; 32]))
}

/// What the receiver knows of a message by its secret alone: that its signature is this.
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

/// Waits, with patience for slow machines.
async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(60), "it never happened");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Sends a load of `haul` to a driver and gives the notification's id.
async fn send(app: &App, load: &str) -> String {
    send_to(app, load, "dai").await
}

/// As [`send`], to this driver.
async fn send_to(app: &App, load: &str, driver: &str) -> String {
    let form = json!({"loadId": load, "driverId": driver});
    let sent = app.post("/v1/loads/send-to-driver").by(&User::of("haul")).json(&form).send().await.ok();
    assert_eq!(sent["status"], "success");
    sent["id"].as_str().unwrap().to_owned()
}

/// The delivery log of a load.
async fn log(app: &App, load: &str) -> Vec<Value> {
    log_of(app, "haul", load).await
}

/// The delivery log of a load, as this organisation reads it.
async fn log_of(app: &App, organisation: &str, load: &str) -> Vec<Value> {
    let path = format!("/v1/loads/{load}/notifications");
    app.get(&path).by(&User::of(organisation)).send().await.ok().as_array().unwrap().clone()
}

/// The only entry of the log, once it has this status.
async fn settled(app: &App, load: &str, status: &str) -> Value {
    settled_of(app, "haul", load, status).await
}

/// As [`settled`], for a load of this organisation.
async fn settled_of(app: &App, organisation: &str, load: &str, status: &str) -> Value {
    let mut entries = Vec::new();
    eventually(async || {
        entries = log_of(app, organisation, load).await;
        entries[0]["status"] == status
    })
    .await;
    assert_eq!(entries.len(), 1);
    entries.remove(0)
}
