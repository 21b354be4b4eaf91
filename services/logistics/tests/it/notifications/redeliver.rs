//! Redelivery, by an administrator's request or on the command line.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::*;

/// A receiver that takes nothing until it is told to.
async fn broken() -> (Receiver, Arc<AtomicBool>) {
    let mended = Arc::new(AtomicBool::new(false));
    let works = mended.clone();
    let receiver =
        Receiver::start(move |_: &Request| answer(if works.load(Ordering::SeqCst) { 200 } else { 500 }));
    (receiver.await, mended)
}

/// `logistics redeliver ID` over this database.
async fn command(database: &str, id: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_logistics"));
    command.args(["redeliver", id]).env("DROVER_DATABASE__URL", database);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

testkit::on_both! {
    async fn by_operation(backend) {
        let (receiver, mended) = broken().await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let (load, other) = (created(&app).await, created(&app).await);
        let id = send(&app, &load).await;
        settled(&app, &load, "failed").await;
        mended.store(true, Ordering::SeqCst);

        let path = |load: &str, id: &str| format!("/v1/loads/{load}/notifications/{id}/redeliver");
        let own = path(&load, &id);
        assert_eq!(app.post(&own).send().await.error(401), "unauthenticated");
        for user in [User::of("haul"), User::of("grain"), User::individual("dai")] {
            assert_eq!(app.post(&own).by(&user).send().await.error(403), "forbidden");
        }
        let nowhere = [(&other, &id), (&load, &load), (&"nonsense".to_owned(), &id), (&load, &"%00".to_owned())];
        for (load, id) in nowhere {
            assert_eq!(app.post(&path(load, id)).by(&User::admin()).send().await.error(404), "not_found");
            assert_eq!(app.post(&path(load, id)).by(&User::of("haul")).send().await.error(403), "forbidden");
        }

        let again = app.post(&own).by(&User::admin()).send().await.ok();
        assert_eq!((&again["status"], &again["id"]), (&json!("success"), &json!(id)));
        assert!(again["message"].as_str().unwrap().contains("was failed"), "{again}");
        assert_eq!(settled(&app, &load, "delivered").await["attempts"], 1);
        assert_eq!(receiver.requests().await.len(), 11);

        // What was delivered can be delivered again.
        let post = || app.post(&own).by(&User::admin()).header("idempotency-key", "k");
        assert!(post().send().await.ok()["message"].as_str().unwrap().contains("was delivered"));
        let requests = receiver.has(12).await;
        assert!(requests.iter().all(|request| header(request, "webhook-id") == id));
        settled(&app, &load, "delivered").await;
        let replayed = post().send().await;
        assert_eq!((replayed.status, replayed.header("idempotency-replayed")), (200, "true"));
        assert_eq!(log(&app, &load).await[0]["status"], "delivered", "a repeat does nothing");
    }

    async fn on_the_command_line(backend) {
        let (receiver, mended) = broken().await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let load = created(&app).await;
        let id = send(&app, &load).await;
        settled(&app, &load, "failed").await;
        mended.store(true, Ordering::SeqCst);
        let output = command(&app.database.url, &id).await;
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "The notification was failed and is delivered again.");
        assert_eq!(settled(&app, &load, "delivered").await["attempts"], 1);
        assert_eq!(receiver.requests().await.len(), 11);
        for unknown in ["nonsense", load.as_str()] {
            let output = command(&app.database.url, unknown).await;
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && told.contains("GET /v1/loads/{id}/notifications"), "{told}");
        }
    }

    async fn while_it_is_being_delivered(backend) {
        const DELAY: Duration = Duration::from_millis(500);
        let arrivals = Arc::new(Mutex::new(Vec::new()));
        let seen = arrivals.clone();
        let receiver = Receiver::start(move |_: &Request| {
            seen.lock().unwrap().push(Instant::now());
            answer(200).set_delay(DELAY)
        });
        let receiver = receiver.await;
        let settings = Settings { webhook_timeout_ms: 1500, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let load = created(&app).await;
        let id = send(&app, &load).await;
        receiver.has(1).await;
        let path = format!("/v1/loads/{load}/notifications/{id}/redeliver");
        app.post(&path).by(&User::admin()).send().await.ok();
        // The delivery that was running does not count for the one that was asked for, which waits for it.
        receiver.has(2).await;
        settled(&app, &load, "delivered").await;
        let arrivals = arrivals.lock().unwrap().clone();
        assert!(arrivals.is_sorted_by(|a, b| *b - *a >= DELAY), "two deliveries of one notification at once");
    }

    async fn by_the_previous_version_while_another_one_is_pending(backend) {
        let (receiver, mended) = broken().await;
        mended.store(true, Ordering::SeqCst);
        let settings = Settings { webhook_retry_seconds: 2, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let load = created(&app).await;
        let first = send(&app, &load).await;
        settled(&app, &load, "delivered").await;
        mended.store(false, Ordering::SeqCst);
        assert_ne!(send(&app, &load).await, first);
        let (table, now, id) = match backend {
            testkit::Backend::Sqlite => ("notifications", "created_at", format!("x'{}'", first.replace('-', ""))),
            testkit::Backend::Postgres => ("logistics.notifications", "now()", format!("'{first}'")),
        };
        app.database.execute(&format!(
            "UPDATE {table} SET status = 'pending', attempts = 0, due_at = {now}, pending_since = {now}, \
             delivered_at = NULL WHERE id = {id}"
        ));
        mended.store(true, Ordering::SeqCst);
        eventually(async || log(&app, &load).await.iter().all(|entry| entry["status"] == "delivered")).await;
        assert_eq!(log(&app, &load).await.len(), 2);
    }
}
