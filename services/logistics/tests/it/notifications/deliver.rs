//! What a receiver gets, and what becomes of notifications when it does not answer well.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use super::*;

/// These statuses in turn, the last one from then on.
fn in_turn(statuses: &'static [u16]) -> impl Respond {
    let count = AtomicUsize::new(0);
    move |_: &Request| {
        let n = count.fetch_add(1, Ordering::SeqCst);
        answer(statuses[n.min(statuses.len() - 1)])
    }
}

testkit::on_both! {
    async fn the_event_is_delivered_signed_by_both_secrets(backend) {
        let receiver = Receiver::start(answer(204)).await;
        let settings =
            Settings { webhook_secrets: vec![secret(1).into(), secret(2).into()], ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let load = created(&app).await;
        let form = json!({"loadId": load, "carrierId": "haul"});
        let sent = app.post("/v1/loads/send-to-carrier").by(&User::of("grain")).json(&form).send().await.ok();
        let entry = settled(&app, &load, "delivered").await;
        assert_eq!((&entry["id"], &entry["attempts"]), (&sent["id"], &json!(1)));

        let requests = receiver.requests().await;
        let [request] = &requests[..] else { panic!("{requests:?}") };
        assert_eq!((request.method.as_str(), request.url.path()), ("POST", "/hook"));
        assert_eq!(header(request, "content-type"), "application/json");
        assert_eq!(header(request, "webhook-id"), sent["id"].as_str().unwrap());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        assert!(now.abs_diff(header(request, "webhook-timestamp").parse().unwrap()) < 60);
        let signatures = format!("{} {}", signature(request, 1), signature(request, 2));
        assert_eq!(header(request, "webhook-signature"), signatures);
        let load = app.get(&format!("/v1/loads/{load}")).by(&User::of("haul")).send().await.ok();
        let body: Value = request.body_json().unwrap();
        assert_eq!(body, json!({
            "id": sent["id"], "type": "load.sent_to_carrier", "timestamp": entry["createdAtUTC"],
            "data": {"notificationId": sent["id"], "loadId": load["id"], "recipientId": "haul", "load": load},
        }));
    }

    async fn the_event_shows_the_load_as_it_was_sent(backend) {
        let receiver = Receiver::start(in_turn(&[500, 200])).await;
        let settings = Settings { webhook_retry_seconds: 1, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let load = app.post("/v1/loads/organiser").by(&User::of("grain")).json(&organiser_form()).send().await.ok();
        let form = json!({"loadId": load["id"], "carrierId": "haul", "carrierName": "Hereford Haulage"});
        app.post("/v1/loads/send-to-carrier").by(&User::of("grain")).json(&form).send().await.ok();
        receiver.has(1).await;
        let proof = json!({"weightNet": 1, "ticketNumber": "T", "vehicleRegistration": "V", "files": null});
        let path = format!("/v1/loads/{}/proof-of-delivery", load["id"].as_str().unwrap());
        app.post(&path).by(&User::of("haul")).json(&proof).send().await.ok();
        for request in receiver.has(2).await {
            let body: Value = request.body_json().unwrap();
            let carrier = json!({"id": "haul", "name": "Hereford Haulage"});
            assert_eq!(body["data"]["load"], with(load.clone(), "carrier", carrier));
        }
    }

    async fn what_is_refused_is_sent_again_until_it_is_taken(backend) {
        let receiver = Receiver::start(in_turn(&[500, 404, 302, 200])).await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let load = created(&app).await;
        let id = send(&app, &load).await;
        assert_eq!(settled(&app, &load, "delivered").await["attempts"], 4);
        let requests = receiver.requests().await;
        assert_eq!(requests.len(), 4);
        for request in &requests {
            assert_eq!(header(request, "webhook-id"), id);
            assert_eq!(request.body, requests[0].body);
            assert_eq!(header(request, "webhook-signature"), signature(request, 1));
        }
    }

    async fn after_ten_tries_it_has_failed(backend) {
        let other = Receiver::start(answer(200)).await;
        // Within the same private network, and not where it was sent to.
        let location = format!("{}/elsewhere", other.0.uri());
        let receiver = Receiver::start(answer(307).insert_header("location", location)).await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        // Counting begins when somebody asks.
        app.get("/metrics").send().await;
        let load = created(&app).await;
        send(&app, &load).await;
        let entry = settled(&app, &load, "failed").await;
        assert_eq!((&entry["attempts"], entry.get("deliveredAtUTC")), (&json!(10), None));
        assert_eq!(receiver.requests().await.len(), 10);
        assert!(other.requests().await.is_empty(), "a redirect was followed");
        let metrics = app.get("/metrics").send().await.text();
        for part in [
            "drover_notifications_deliveries_total{event=\"load.sent_to_driver\",outcome=\"failed\"}",
            "drover_notifications_deliveries_total{event=\"load.sent_to_driver\",outcome=\"retried\"}",
            "drover_notifications_delivery_seconds_bucket",
            "drover_notifications_oldest_pending_seconds",
        ] {
            assert!(metrics.contains(part), "{part}: {metrics}");
        }
    }

    async fn a_receiver_that_hangs_delays_nobody(backend) {
        let receiver = Receiver::start(answer(200).set_delay(Duration::from_secs(3600))).await;
        let settings = Settings { webhook_timeout_ms: 300_000, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let load = created(&app).await;
        for n in 0..16 {
            send_to(&app, &load, &format!("driver-{n}")).await;
        }
        assert_eq!(receiver.has(16).await.len(), 16, "they go out at once");
        // Every slot of the organisation waits for the receiver from here on.
        for n in 16..56 {
            send_to(&app, &load, &format!("driver-{n}")).await;
        }
        created(&app).await;
        let pending = log(&app, &load).await;
        assert_eq!(pending.len(), 56);
        assert!(pending.iter().all(|entry| entry["status"] == "pending"));
        assert_eq!(receiver.requests().await.len(), 16, "and no more than can be borne");
    }

    async fn a_receiver_that_is_too_slow_is_given_up_and_others_get_their_turn(backend) {
        let receiver = Receiver::start(|request: &Request| {
            let slow = String::from_utf8_lossy(&request.body).contains("\"recipientId\":\"slow-");
            answer(200).set_delay(if slow { Duration::from_secs(3600) } else { Duration::ZERO })
        });
        let receiver = receiver.await;
        let settings =
            Settings { webhook_timeout_ms: 2000, webhook_retry_seconds: 3600, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let (load, other) = (created(&app).await, created(&app).await);
        for n in 0..20 {
            send_to(&app, &load, &format!("slow-{n}")).await;
        }
        send(&app, &other).await;
        settled(&app, &other, "delivered").await;
        eventually(async || log(&app, &load).await.iter().all(|entry| entry["attempts"] == 1)).await;
        assert!(log(&app, &load).await.iter().all(|entry| entry["status"] == "pending"));
    }
}
