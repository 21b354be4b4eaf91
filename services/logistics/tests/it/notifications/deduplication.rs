//! Deduplication: one pending notification per load, event and recipient.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Starts a receiver that fails until the flag is set, and a service with a backoff of 2 s.
async fn failing_receiver(backend: Backend) -> (Receiver, Arc<AtomicBool>, App) {
    let works = Arc::new(AtomicBool::new(false));
    let recovered = works.clone();
    let receiver = Receiver::start(move |_: &Request| {
        respond_with(if works.load(Ordering::SeqCst) { 200 } else { 500 })
    })
    .await;
    let settings = Settings { webhook_retry_seconds: 2, ..receiver.settings() };
    let app = App::start::<Logistics>(backend, settings).await;
    (receiver, recovered, app)
}

testkit::on_both! {
    async fn sending_again_returns_the_pending_notification(backend) {
        let (receiver, recovered, app) = failing_receiver(backend).await;
        let (load, other) = (create_load(&app).await, create_load(&app).await);
        let id = send(&app, &load).await;
        receiver.wait_for(1).await;
        for _ in 0..5 {
            assert_eq!(send(&app, &load).await, id);
        }
        let form = json!({"loadId": load, "carrierId": "haul"});
        let to_carrier = app.post("/v1/loads/send-to-carrier").by(&User::of("grain")).json(&form).send().await.ok();
        let ids = HashSet::from([
            id.clone(), send_to(&app, &load, "eve").await, send(&app, &other).await,
            to_carrier["id"].as_str().unwrap().to_owned(),
        ]);
        assert_eq!(ids.len(), 4, "another recipient, load or event gives another notification");
        let history = async || {
            let history = events(&app, &load).await;
            history.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(history().await, ["created", "sent_to_driver", "sent_to_carrier", "sent_to_driver"]);
        assert_eq!(delivery_log(&app, &load).await.len(), 3);

        recovered.store(true, Ordering::SeqCst);
        wait_until(async || delivery_log(&app, &load).await.iter().all(|entry| entry["status"] == "delivered")).await;
        assert_ne!(send(&app, &load).await, id, "sending after the delivery stores another");
        assert_eq!((delivery_log(&app, &load).await.len(), history().await.len()), (4, 5));
    }

    async fn concurrent_sends_store_one_notification(backend) {
        let (_receiver, _, app) = failing_receiver(backend).await;
        let replica = App::start_replica::<Logistics>(&app, Settings {
            webhook_url: Some("http://127.0.0.1:9/".parse().unwrap()), webhook_secrets: vec![secret(1).into()],
            webhook_allow_private: true, webhook_retry_seconds: 60, ..Settings::default()
        }).await;
        for _ in 0..5 {
            let load = create_load(&app).await;
            let mut sends = tokio::task::JoinSet::new();
            for n in 0..12 {
                // SQLite databases belong to one process.
                let app = if n % 2 == 0 && backend == Backend::Postgres { &replica } else { &app };
                let form = json!({"loadId": load, "driverId": "dai"});
                let sent = app.post("/v1/loads/send-to-driver").by(&User::of("haul")).json(&form).send();
                sends.spawn(async { sent.await.ok()["id"].as_str().unwrap().to_owned() });
            }
            let ids: HashSet<_> = sends.join_all().await.into_iter().collect();
            assert_eq!(ids.len(), 1, "{ids:?}");
            assert_eq!(delivery_log(&app, &load).await.len(), 1);
        }
    }

    async fn sending_again_before_the_first_attempt_updates_the_content(backend) {
        // No delivery is attempted while all slots of the organisation are occupied.
        let receiver = Receiver::start(|request: &Request| {
            let hangs = String::from_utf8_lossy(&request.body).contains("\"recipientId\":\"slow-");
            respond_with(200).set_delay(if hangs { Duration::from_secs(6) } else { Duration::ZERO })
        });
        let receiver = receiver.await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let slow = create_load(&app).await;
        for n in 0..16 {
            send_to(&app, &slow, &format!("slow-{n}")).await;
        }
        receiver.wait_for(16).await;
        let form = json!({
            "carrierId": "haul", "carrierName": "H", "commodityId": 1, "reference": "later", "deliveryDateISO": "2026-03-01",
            "weight": 1, "tags": [],
        });
        let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        let sent = send(&app, id).await;
        let cast = if backend == Backend::Sqlite { "" } else { "::text" };
        let back = if backend == Backend::Sqlite { "" } else { "::json" };
        app.database.execute(&format!("UPDATE loads SET document = replace(document{cast}, 'later', 'now'){back}"));
        assert_eq!(send(&app, id).await, sent);
        let requests = receiver.wait_for(17).await;
        let body: Value = requests[16].body_json().unwrap();
        assert_eq!(body["data"]["load"]["reference"], "now");
        assert_eq!(body["timestamp"], delivery_log(&app, id).await[0]["createdAtUTC"]);
    }

    async fn sending_during_redelivery_returns_the_pending_notification(backend) {
        let (receiver, recovered, app) = failing_receiver(backend).await;
        recovered.store(true, Ordering::SeqCst);
        let load = create_load(&app).await;
        let first = send(&app, &load).await;
        wait_for_status(&app, &load, "delivered").await;
        recovered.store(false, Ordering::SeqCst);
        let redeliver = async |id: &str| {
            let path = format!("/v1/loads/{load}/notifications/{id}/redeliver");
            app.post(&path).by(&User::admin()).send().await.ok();
        };
        redeliver(&first).await;
        assert_eq!(send(&app, &load).await, first);
        receiver.wait_for(2).await;
        recovered.store(true, Ordering::SeqCst);
        wait_for_status(&app, &load, "delivered").await;
        // Two notifications can be pending if one of them is redelivered.
        recovered.store(false, Ordering::SeqCst);
        let second = send(&app, &load).await;
        assert_ne!(second, first);
        redeliver(&first).await;
        assert_eq!(send(&app, &load).await, second);
        recovered.store(true, Ordering::SeqCst);
        wait_until(async || delivery_log(&app, &load).await.iter().all(|entry| entry["status"] == "delivered")).await;
        assert_eq!(delivery_log(&app, &load).await.len(), 2);
    }
}
