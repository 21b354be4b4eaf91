//! Crashes between delivery and record.

use std::sync::atomic::{AtomicBool, Ordering};

use testkit::{Process, TestDatabase};

use super::*;

/// Starts a service over this database, with this receiver.
async fn start(database: &TestDatabase, receiver: &Receiver) -> Process {
    let (database, receiver, secret) = (database.url.clone(), receiver.url(), secret(1));
    let start = move || {
        let settings = [
            ("DATABASE__URL", &*database),
            ("SERVICE__WEBHOOK_URL", &receiver),
            ("SERVICE__WEBHOOK_SECRETS", &secret),
            ("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true"),
            ("SERVICE__WEBHOOK_TIMEOUT_MS", "3000"),
        ];
        Process::start(env!("CARGO_BIN_EXE_logistics"), &settings)
    };
    tokio::task::spawn_blocking(start).await.unwrap()
}

testkit::on_both! {
    async fn interrupted_deliveries_are_repeated_with_the_same_id(backend) {
        // Delays the first response beyond every timeout.
        let first = AtomicBool::new(true);
        let receiver = Receiver::start(move |_: &Request| {
            let held = Duration::from_secs(if first.swap(false, Ordering::SeqCst) { 3600 } else { 0 });
            respond_with(200).set_delay(held)
        });
        let receiver = receiver.await;
        // Another service stored the notification. Its receiver failed, and it has stopped.
        let (database, load, id) = database_with_due_notification(backend).await;
        let crashed = start(&database, &receiver).await;
        receiver.wait_for(1).await;
        drop(crashed); // by SIGKILL

        let _successor = start(&database, &receiver).await;
        let requests = receiver.wait_for(2).await;
        assert!(requests.iter().all(|request| header(request, "webhook-id") == id), "{requests:?}");
        assert_eq!(requests[0].body, requests[1].body);
        let app = App::start_on::<Logistics>(database, Settings::default()).await;
        let entry = wait_for_status(&app, &load, "delivered").await;
        assert!(entry["attempts"].as_u64() >= Some(2), "{entry}");
        assert_eq!(receiver.requests().await.len(), 2);
    }
}

/// Returns a database with one due notification, and the ids of its load and of the notification.
async fn database_with_due_notification(backend: Backend) -> (TestDatabase, String, String) {
    let refusing = Receiver::start(respond_with(500)).await;
    let settings = Settings { webhook_retry_seconds: 3600, ..refusing.settings() };
    let app = App::start::<Logistics>(backend, settings).await;
    let load = create_load(&app).await;
    let id = send(&app, &load).await;
    refusing.wait_for(1).await;
    let database = app.stop().await;
    let now = match backend {
        Backend::Sqlite => "0",
        Backend::Postgres => "now()",
    };
    database.execute(&format!("UPDATE notifications SET due_at = {now}, attempts = 0"));
    (database, load, id)
}
