//! Receivers of webhooks.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond};

/// A receiver of webhooks on a free port.
pub struct WebhookReceiver(MockServer);

impl WebhookReceiver {
    /// Starts a receiver with this response.
    pub async fn start(response: impl Respond + 'static) -> Self {
        let server = MockServer::builder().start().await;
        Mock::given(any()).respond_with(response).mount(&server).await;
        Self(server)
    }

    /// Returns the URL to register.
    pub fn url(&self) -> String {
        format!("{}/hook", self.0.uri())
    }

    /// Returns the requests so far.
    pub async fn requests(&self) -> Vec<Request> {
        self.0.received_requests().await.unwrap()
    }

    /// Waits for at least this many requests and returns all.
    pub async fn wait_for(&self, count: usize) -> Vec<Request> {
        let mut requests = Vec::new();
        wait_until(async || {
            requests = self.requests().await;
            requests.len() >= count
        })
        .await;
        requests
    }
}

/// Computes the signature of a message by a secret (`whsec_…`), as a receiver does.
pub fn webhook_signature(request: &Request, secret: &str) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &key);
    let mut signed = aws_lc_rs::hmac::Context::with_key(&key);
    let header = |name: &str| request.headers[name].to_str().unwrap();
    for part in [header("webhook-id"), ".", header("webhook-timestamp"), "."] {
        signed.update(part.as_bytes());
    }
    signed.update(&request.body);
    format!("v1,{}", STANDARD.encode(signed.sign()))
}

/// Polls until a condition holds, up to two minutes.
///
/// # Panics
/// If it does not hold within two minutes.
pub async fn wait_until(mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    loop {
        let polled = Instant::now();
        if holds().await {
            return;
        }
        assert!(
            started.elapsed() < Duration::from_secs(120),
            "the condition did not hold within two minutes"
        );
        // A condition that takes long to evaluate must not slow down what it waits for.
        tokio::time::sleep(polled.elapsed().max(Duration::from_millis(20))).await;
    }
}
