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

use testkit::{WebhookReceiver as Receiver, wait_until};
use wiremock::Request;

use super::*;

/// Settings that name a receiver.
trait NamedReceiver {
    /// Returns settings with this receiver and retries without backoff.
    fn settings(&self) -> Settings;
}

impl NamedReceiver for Receiver {
    fn settings(&self) -> Settings {
        Settings {
            webhook_url: Some(self.url().parse().unwrap()),
            webhook_secrets: vec![secret(1).into()],
            webhook_allow_private: true,
            webhook_retry_seconds: 0,
            ..Settings::default()
        }
    }
}

/// Computes the signature of a message by this secret.
fn signature(request: &Request, which: u8) -> String {
    testkit::webhook_signature(request, &secret(which))
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

/// Like [`send_to`], to this many drivers: 20 of each load, of which there are enough.
async fn send_to_drivers(app: &App, loads: &[String], drivers: std::ops::Range<usize>) {
    for n in drivers {
        send_to(app, &loads[n / 20], &format!("driver-{n}")).await;
    }
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
