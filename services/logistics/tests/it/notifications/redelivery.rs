//! Redelivery by administrators and on the command line.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::*;

/// Starts a receiver that fails until the flag is set.
async fn failing_receiver() -> (Receiver, Arc<AtomicBool>) {
    let recovered = Arc::new(AtomicBool::new(false));
    let works = recovered.clone();
    let receiver = Receiver::start(move |_: &Request| {
        respond_with(if works.load(Ordering::SeqCst) { 200 } else { 500 })
    });
    (receiver.await, recovered)
}

/// Runs `logistics redeliver ID` with this database.
async fn command(database: &str, id: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_logistics"));
    command.args(["redeliver", id]).env("DROVER_DATABASE__URL", database);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

testkit::on_both! {
    async fn admins_redeliver_notifications(backend) {
        let (receiver, recovered) = failing_receiver().await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let (load, other) = (create_load(&app).await, create_load(&app).await);
        let id = send(&app, &load).await;
        wait_for_status(&app, &load, "failed").await;
        recovered.store(true, Ordering::SeqCst);

        let path = |load: &str, id: &str| format!("/v1/loads/{load}/notifications/{id}/redeliver");
        let own = path(&load, &id);
        assert_eq!(app.post(&own).send().await.error(401), "unauthenticated");
        for user in [User::of("haul"), User::of("grain"), User::individual("dai")] {
            assert_eq!(app.post(&own).by(&user).send().await.error(403), "forbidden");
        }
        let unknown = [(&other, &id), (&load, &load), (&"nonsense".to_owned(), &id), (&load, &"%00".to_owned())];
        for (load, id) in unknown {
            assert_eq!(app.post(&path(load, id)).by(&User::admin()).send().await.error(404), "not_found");
            assert_eq!(app.post(&path(load, id)).by(&User::of("haul")).send().await.error(403), "forbidden");
        }

        let again = app.post(&own).by(&User::admin()).send().await.ok();
        assert_eq!((&again["status"], &again["id"]), (&json!("success"), &json!(id)));
        assert!(again["message"].as_str().unwrap().contains("was failed"), "{again}");
        assert_eq!(wait_for_status(&app, &load, "delivered").await["attempts"], 1);
        assert_eq!(receiver.requests().await.len(), 11);

        // Delivered notifications can be redelivered.
        let post = || app.post(&own).by(&User::admin()).header("idempotency-key", "k");
        assert!(post().send().await.ok()["message"].as_str().unwrap().contains("was delivered"));
        let requests = receiver.wait_for(12).await;
        assert!(requests.iter().all(|request| header(request, "webhook-id") == id));
        wait_for_status(&app, &load, "delivered").await;
        let replayed = post().send().await;
        assert_eq!((replayed.status, replayed.header("idempotency-replayed")), (200, "true"));
        assert_eq!(delivery_log(&app, &load).await[0]["status"], "delivered", "a replayed request changes nothing");
    }

    async fn the_command_redelivers_notifications(backend) {
        let (receiver, recovered) = failing_receiver().await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let load = create_load(&app).await;
        let id = send(&app, &load).await;
        wait_for_status(&app, &load, "failed").await;
        recovered.store(true, Ordering::SeqCst);
        let output = command(&app.database.url, &id).await;
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "The notification was failed and is delivered again.");
        assert_eq!(wait_for_status(&app, &load, "delivered").await["attempts"], 1);
        assert_eq!(receiver.requests().await.len(), 11);
        for unknown in ["nonsense", load.as_str()] {
            let output = command(&app.database.url, unknown).await;
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && message.contains("GET /v1/loads/{id}/notifications"), "{message}");
        }
    }

    async fn redelivery_waits_for_a_running_delivery(backend) {
        const DELAY: Duration = Duration::from_millis(500);
        let arrivals = Arc::new(Mutex::new(Vec::new()));
        let seen = arrivals.clone();
        let receiver = Receiver::start(move |_: &Request| {
            seen.lock().unwrap().push(Instant::now());
            respond_with(200).set_delay(DELAY)
        });
        let receiver = receiver.await;
        let settings = Settings { webhook_timeout_ms: 1500, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let load = create_load(&app).await;
        let id = send(&app, &load).await;
        receiver.wait_for(1).await;
        let path = format!("/v1/loads/{load}/notifications/{id}/redeliver");
        app.post(&path).by(&User::admin()).send().await.ok();
        // The running delivery does not count as the redelivery, which starts after it.
        receiver.wait_for(2).await;
        wait_for_status(&app, &load, "delivered").await;
        let arrivals = arrivals.lock().unwrap().clone();
        assert!(arrivals.is_sorted_by(|a, b| *b - *a >= DELAY), "two deliveries of one notification at once");
    }

    async fn redelivery_by_the_previous_version_does_not_conflict_with_a_pending_notification(backend) {
        let (receiver, recovered) = failing_receiver().await;
        recovered.store(true, Ordering::SeqCst);
        let settings = Settings { webhook_retry_seconds: 2, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let load = create_load(&app).await;
        let first = send(&app, &load).await;
        wait_for_status(&app, &load, "delivered").await;
        recovered.store(false, Ordering::SeqCst);
        assert_ne!(send(&app, &load).await, first);
        let now = if backend == Backend::Sqlite { "created_at" } else { "now()" };
        app.database.execute(&format!(
            "UPDATE notifications SET status = 'pending', attempts = 0, due_at = {now}, pending_since = {now}, \
             delivered_at = NULL WHERE id = {}",
            backend.id(&first)
        ));
        recovered.store(true, Ordering::SeqCst);
        wait_until(async || delivery_log(&app, &load).await.iter().all(|entry| entry["status"] == "delivered")).await;
        assert_eq!(delivery_log(&app, &load).await.len(), 2);
    }
}
