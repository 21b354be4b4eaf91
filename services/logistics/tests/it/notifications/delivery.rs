//! Requests to receivers, retries and timeouts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use super::*;

/// Responds with these statuses in order, then with the last one.
fn respond_in_order(statuses: &'static [u16]) -> impl wiremock::Respond {
    let count = AtomicUsize::new(0);
    move |_: &Request| {
        let n = count.fetch_add(1, Ordering::SeqCst);
        respond_with(statuses[n.min(statuses.len() - 1)])
    }
}

testkit::on_both! {
    async fn delivers_the_event_signed_with_both_secrets(backend) {
        let receiver = Receiver::start(respond_with(204)).await;
        let settings =
            Settings { webhook_secrets: vec![secret(1).into(), secret(2).into()], ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let load = create_load(&app).await;
        let form = json!({"loadId": load, "carrierId": "haul"});
        let sent = app.post("/v1/loads/send-to-carrier").by(&User::of("grain")).json(&form).send().await.ok();
        let entry = wait_for_status(&app, &load, "delivered").await;
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

    async fn a_cancellation_is_delivered_with_the_drivers(backend) {
        let receiver = Receiver::start(respond_with(204)).await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let load = create_load(&app).await;
        for driver in ["eve", "dai", "gus"] {
            send_to(&app, &load, driver).await;
        }
        app.call("DELETE", &format!("/v1/loads/{load}/drivers/gus")).by(&User::of("haul")).send().await.ok();
        let cancelled = cancel(&app, &User::of("grain"), &load).await.ok();
        cancel(&app, &User::of("grain"), &load).await.ok();
        let is_cancellation = |request: &&Request| {
            let body: Value = request.body_json().unwrap();
            body["type"] == "load.cancelled"
        };
        let mut requests = Vec::new();
        wait_until(async || {
            requests = receiver.requests().await;
            requests.iter().any(|request| is_cancellation(&request))
        })
        .await;
        let log = delivery_log(&app, &load).await;
        let entries: Vec<_> = log.iter().filter(|entry| entry["event"] == "load.cancelled").collect();
        let [entry] = entries[..] else { panic!("{log:?}") };
        let of_cancellation: Vec<_> = requests.iter().filter(is_cancellation).collect();
        let [request] = of_cancellation[..] else { panic!("{requests:?}") };
        assert_eq!(header(request, "webhook-id"), entry["id"].as_str().unwrap());
        assert_eq!(request.body_json::<Value>().unwrap(), json!({
            "id": entry["id"], "type": "load.cancelled", "timestamp": entry["createdAtUTC"],
            "data": {"notificationId": entry["id"], "loadId": load, "recipientIds": ["dai", "eve"], "load": cancelled},
        }));
        assert_eq!(entry["recipientId"], "");
        let found = app.get("/v1/notifications?f:event=load.cancelled").by(&User::of("haul")).send().await.ok();
        assert_eq!(found[0]["id"], entry["id"]);
    }

    async fn retries_deliver_the_content_at_the_time_of_sending(backend) {
        let receiver = Receiver::start(respond_in_order(&[500, 200])).await;
        let settings = Settings { webhook_retry_seconds: 1, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let load = app.post("/v1/loads/organiser").by(&User::of("grain")).json(&organiser_form()).send().await.ok();
        let form = json!({"loadId": load["id"], "carrierId": "haul", "carrierName": "Hereford Haulage"});
        app.post("/v1/loads/send-to-carrier").by(&User::of("grain")).json(&form).send().await.ok();
        receiver.wait_for(1).await;
        let proof = json!({"weightNet": 1, "ticketNumber": "T", "vehicleRegistration": "V", "files": null});
        let path = format!("/v1/loads/{}/proof-of-delivery", load["id"].as_str().unwrap());
        app.post(&path).by(&User::of("haul")).json(&proof).send().await.ok();
        for request in receiver.wait_for(2).await {
            let body: Value = request.body_json().unwrap();
            let carrier = json!({"id": "haul", "name": "Hereford Haulage"});
            let sent = &body["data"]["load"];
            assert_eq!(*sent, revised(with(load.clone(), "carrier", carrier), sent));
        }
    }

    async fn retries_until_the_receiver_acknowledges(backend) {
        let receiver = Receiver::start(respond_in_order(&[500, 404, 302, 200])).await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        let load = create_load(&app).await;
        let id = send(&app, &load).await;
        assert_eq!(wait_for_status(&app, &load, "delivered").await["attempts"], 4);
        let requests = receiver.requests().await;
        assert_eq!(requests.len(), 4);
        for request in &requests {
            assert_eq!(header(request, "webhook-id"), id);
            assert_eq!(request.body, requests[0].body);
            assert_eq!(header(request, "webhook-signature"), signature(request, 1));
        }
    }

    async fn fails_after_ten_attempts_and_follows_no_redirects(backend) {
        let other = Receiver::start(respond_with(200)).await;
        // The redirect leads to another receiver in the same private network.
        let location = format!("{}/elsewhere", other.url());
        let receiver = Receiver::start(respond_with(307).insert_header("location", location)).await;
        let app = App::start::<Logistics>(backend, receiver.settings()).await;
        // Metrics are recorded from the first scrape on.
        app.get("/metrics").send().await;
        let load = create_load(&app).await;
        send(&app, &load).await;
        let entry = wait_for_status(&app, &load, "failed").await;
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

    async fn hanging_deliveries_block_neither_requests_nor_more_than_16_slots(backend) {
        let receiver = Receiver::start(respond_with(200).set_delay(Duration::from_secs(3600))).await;
        let settings = Settings { webhook_timeout_ms: 300_000, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let loads = [create_load(&app).await, create_load(&app).await, create_load(&app).await];
        send_to_drivers(&app, &loads, 0..16).await;
        assert_eq!(receiver.wait_for(16).await.len(), 16, "16 deliveries run concurrently");
        // All slots of the organisation are occupied from here on.
        send_to_drivers(&app, &loads, 16..56).await;
        create_load(&app).await;
        let mut pending = Vec::new();
        for load in &loads {
            pending.extend(delivery_log(&app, load).await);
        }
        assert_eq!(pending.len(), 56);
        assert!(pending.iter().all(|entry| entry["status"] == "pending"));
        assert_eq!(receiver.requests().await.len(), 16, "no more than 16 deliveries run concurrently");
    }

    async fn slow_deliveries_time_out_and_release_their_slots(backend) {
        let receiver = Receiver::start(|request: &Request| {
            let slow = String::from_utf8_lossy(&request.body).contains("\"recipientId\":\"slow-");
            respond_with(200).set_delay(if slow { Duration::from_secs(3600) } else { Duration::ZERO })
        });
        let receiver = receiver.await;
        let settings =
            Settings { webhook_timeout_ms: 2000, webhook_retry_seconds: 3600, ..receiver.settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        let (load, other) = (create_load(&app).await, create_load(&app).await);
        for n in 0..20 {
            send_to(&app, &load, &format!("slow-{n}")).await;
        }
        send(&app, &other).await;
        wait_for_status(&app, &other, "delivered").await;
        wait_until(async || delivery_log(&app, &load).await.iter().all(|entry| entry["attempts"] == 1)).await;
        assert!(delivery_log(&app, &load).await.iter().all(|entry| entry["status"] == "pending"));
    }
}
