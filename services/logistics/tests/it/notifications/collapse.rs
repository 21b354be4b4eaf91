//! Pending notifications of the same load, event and recipient are one.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A receiver that takes nothing for as long as this is false, and a service that tries rarely.
async fn broken(backend: testkit::Backend) -> (Receiver, Arc<AtomicBool>, App) {
    let works = Arc::new(AtomicBool::new(false));
    let mended = works.clone();
    let receiver =
        Receiver::start(move |_: &Request| answer(if works.load(Ordering::SeqCst) { 200 } else { 500 }))
            .await;
    let settings = Settings { webhook_retry_seconds: 2, ..receiver.settings() };
    let app = App::start::<Logistics>(backend, settings).await;
    (receiver, mended, app)
}

testkit::on_both! {
    async fn a_pending_one_is_not_stored_again(backend) {
        let (receiver, mended, app) = broken(backend).await;
        let (load, other) = (created(&app).await, created(&app).await);
        let id = send(&app, &load).await;
        receiver.has(1).await;
        for _ in 0..5 {
            assert_eq!(send(&app, &load).await, id);
        }
        let form = json!({"loadId": load, "carrierId": "haul"});
        let to_carrier = app.post("/v1/loads/send-to-carrier").by(&User::of("grain")).json(&form).send().await.ok();
        let ids = HashSet::from([
            id.clone(), send_to(&app, &load, "eve").await, send(&app, &other).await,
            to_carrier["id"].as_str().unwrap().to_owned(),
        ]);
        assert_eq!(ids.len(), 4, "another recipient, load or event is another one");
        assert_eq!(log(&app, &load).await.len(), 3);

        mended.store(true, Ordering::SeqCst);
        eventually(async || log(&app, &load).await.iter().all(|entry| entry["status"] == "delivered")).await;
        assert_ne!(send(&app, &load).await, id, "once delivered, sending again sends again");
        assert_eq!(log(&app, &load).await.len(), 4);
    }

    async fn of_many_at_once_one_is_stored(backend) {
        let (_receiver, _, app) = broken(backend).await;
        let beside = App::start_replica::<Logistics>(&app, Settings {
            webhook_url: Some("http://127.0.0.1:9/".parse().unwrap()), webhook_secrets: vec![secret(1).into()],
            webhook_allow_private: true, webhook_retry_seconds: 60, ..Settings::default()
        }).await;
        for _ in 0..5 {
            let load = created(&app).await;
            let mut sends = tokio::task::JoinSet::new();
            for n in 0..12 {
                // On SQLite two processes do not share a database.
                let app = if n % 2 == 0 && backend == testkit::Backend::Postgres { &beside } else { &app };
                let form = json!({"loadId": load, "driverId": "dai"});
                let sent = app.post("/v1/loads/send-to-driver").by(&User::of("haul")).json(&form).send();
                sends.spawn(async { sent.await.ok()["id"].as_str().unwrap().to_owned() });
            }
            let ids: HashSet<_> = sends.join_all().await.into_iter().collect();
            assert_eq!(ids.len(), 1, "{ids:?}");
            assert_eq!(log(&app, &load).await.len(), 1);
        }
    }

    async fn one_that_was_not_tried_yet_shows_the_load_as_it_is_now(backend) {
        // Nothing is tried while the slots of the organisation hang.
        let receiver = Receiver::start(|request: &Request| {
            let hangs = String::from_utf8_lossy(&request.body).contains("\"recipientId\":\"slow-");
            answer(200).set_delay(if hangs { Duration::from_secs(2) } else { Duration::ZERO })
        });
        let receiver = receiver.await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let slow = created(&app).await;
        for n in 0..16 {
            send_to(&app, &slow, &format!("slow-{n}")).await;
        }
        receiver.has(16).await;
        let form = json!({
            "carrierId": "haul", "carrierName": "H", "commodityId": 1, "reference": "later", "deliveryDateISO": "2026-03-01",
            "weight": 1, "tags": [],
        });
        let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        let sent = send(&app, id).await;
        let table = if backend == testkit::Backend::Sqlite { "loads" } else { "logistics.loads" };
        let cast = if backend == testkit::Backend::Sqlite { "" } else { "::text" };
        let back = if backend == testkit::Backend::Sqlite { "" } else { "::json" };
        app.database.execute(&format!("UPDATE {table} SET document = replace(document{cast}, 'later', 'now'){back}"));
        assert_eq!(send(&app, id).await, sent);
        let requests = receiver.has(17).await;
        let body: Value = requests[16].body_json().unwrap();
        assert_eq!(body["data"]["load"]["reference"], "now");
        assert_eq!(body["timestamp"], log(&app, id).await[0]["createdAtUTC"]);
    }

    async fn one_that_is_delivered_again_is_not_stored_again(backend) {
        let (receiver, mended, app) = broken(backend).await;
        mended.store(true, Ordering::SeqCst);
        let load = created(&app).await;
        let first = send(&app, &load).await;
        settled(&app, &load, "delivered").await;
        mended.store(false, Ordering::SeqCst);
        let redeliver = async |id: &str| {
            let path = format!("/v1/loads/{load}/notifications/{id}/redeliver");
            app.post(&path).by(&User::admin()).send().await.ok();
        };
        redeliver(&first).await;
        assert_eq!(send(&app, &load).await, first);
        receiver.has(2).await;
        mended.store(true, Ordering::SeqCst);
        settled(&app, &load, "delivered").await;
        // Two that are pending, since one of them was asked for by its id.
        mended.store(false, Ordering::SeqCst);
        let second = send(&app, &load).await;
        assert_ne!(second, first);
        redeliver(&first).await;
        assert_eq!(send(&app, &load).await, second);
        mended.store(true, Ordering::SeqCst);
        eventually(async || log(&app, &load).await.iter().all(|entry| entry["status"] == "delivered")).await;
        assert_eq!(log(&app, &load).await.len(), 2);
    }
}
