//! The events of loads.

use super::*;

const ALL: [&str; 7] = [
    "load.created",
    "load.updated",
    "load.cancelled",
    "load.completed",
    "load.corrected",
    "load.sent_to_driver",
    "load.sent_to_carrier",
];

/// Returns the messages that a receiver got, in the order of their ids.
async fn messages(receiver: &WebhookReceiver, count: usize) -> Vec<Value> {
    let mut messages: Vec<_> = receiver.wait_for(count).await.iter().map(body).collect();
    messages.sort_by_key(|message| message["id"].to_string());
    messages
}

fn types(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["type"].as_str().unwrap()).collect()
}

testkit::on_both! {
    async fn each_change_of_a_load_is_one_event(backend) {
        let (app, receiver, haul) = (start(backend).await, receiver().await, User::of("haul"));
        let webhook = register(&app, "haul", &receiver.url(), &ALL).await;
        let read = async |id: &str| app.get(&format!("/v1/loads/{id}")).by(&haul).send().await.ok();
        let id = create_load(&app).await;
        let mut expected = vec![("load.created", read(&id).await)];
        let edit = json!({"ticketNumber": "T-9"});
        patch(&app, &haul, &id, &edit).await.ok();
        expected.push(("load.updated", read(&id).await));
        patch(&app, &haul, &id, &edit).await.ok();
        let send = async |to: &str, form: Value| {
            let path = format!("/v1/loads/send-to-{to}");
            app.post(&path).by(&haul).json(&form).send().await.ok()
        };
        send("driver", json!({"loadId": id, "driverId": "dai"})).await;
        expected.push(("load.sent_to_driver", read(&id).await));
        send("carrier", json!({"loadId": id, "carrierId": "haul"})).await;
        expected.push(("load.sent_to_carrier", read(&id).await));
        accept(&app, &id).await;
        prove(&app, &haul, &id, &proof_form()).await.ok();
        expected.push(("load.completed", read(&id).await));
        prove(&app, &haul, &id, &proof_form()).await.ok();
        let correction = json!({"weightNet": 28, "reason": "misread"});
        let corrections = format!("/v1/loads/{id}/proof-of-delivery/corrections");
        app.post(&corrections).by(&haul).json(&correction).send().await.ok();
        expected.push(("load.corrected", read(&id).await));
        let other = create_load(&app).await;
        expected.push(("load.created", read(&other).await));
        cancel(&app, &haul, &other).await.ok();
        cancel(&app, &haul, &other).await.ok();
        expected.push(("load.cancelled", read(&other).await));
        wait_for(&app, &webhook, expected.len(), "delivered").await;
        let messages = messages(&receiver, expected.len()).await;
        assert_eq!(messages.len(), expected.len());
        for (message, (event, load)) in messages.iter().zip(&expected) {
            assert_eq!(message, &json!({
                "id": message["id"], "type": event, "timestamp": message["timestamp"], "data": {"load": load},
            }));
        }
    }

    async fn events_reach_the_subscribed_webhooks_of_both_parties(backend) {
        let app = start(backend).await;
        let (organiser, carrier, third) = (receiver().await, receiver().await, receiver().await);
        let of_grain = register(&app, "grain", &organiser.url(), &["load.created", "load.cancelled"]).await;
        let of_haul = register(&app, "haul", &carrier.url(), &["load.updated", "load.created"]).await;
        let of_other = register(&app, "other", &third.url(), &ALL).await;
        let disabled = register(&app, "haul", &third.url(), &ALL).await;
        app.call("PATCH", &path(&disabled)).by(&User::of("haul")).json(&json!({"status": "disabled"})).send().await.ok();
        let id = create_load(&app).await;
        patch(&app, &User::of("haul"), &id, &json!({"pickupPostcode": "HR1 1AA"})).await.ok();
        let moved = json!({"carrierId": "other"});
        patch(&app, &User::of("haul"), &id, &moved).await.ok();
        cancel(&app, &User::of("grain"), &id).await.ok();
        assert_eq!(types(&messages(&organiser, 2).await), ["load.created", "load.cancelled"]);
        assert_eq!(types(&messages(&carrier, 2).await), ["load.created", "load.updated"]);
        // The carrier after the change.
        assert_eq!(types(&messages(&third, 2).await), ["load.updated", "load.cancelled"]);
        let created = [messages(&organiser, 2).await, messages(&carrier, 2).await].map(|messages| messages[0]["id"].clone());
        assert_eq!(created[0], created[1], "one event has one id");
        for (webhook, count) in [(&of_grain, 2), (&of_haul, 2), (&of_other, 2), (&disabled, 0)] {
            assert_eq!(deliveries(&app, webhook).await.len(), count);
        }
    }

    async fn collapsed_notifications_are_no_events(backend) {
        let (app, receiver) = (start(backend).await, receiver().await);
        let failing = WebhookReceiver::start(respond_with(500)).await;
        let settings = Settings {
            webhook_url: Some(failing.url().parse().unwrap()), webhook_secrets: vec![secret(1).into()],
            webhook_retry_seconds: 3600, ..settings()
        };
        let app = App::start_on::<Logistics>(app.stop().await, settings).await;
        let webhook = register(&app, "haul", &receiver.url(), &["load.sent_to_driver"]).await;
        let id = create_load(&app).await;
        for _ in 0..3 {
            let form = json!({"loadId": id, "driverId": "dai"});
            app.post("/v1/loads/send-to-driver").by(&User::of("haul")).json(&form).send().await.ok();
        }
        wait_for(&app, &webhook, 1, "delivered").await;
    }

    async fn each_row_of_a_batch_is_one_event(backend) {
        let (app, receiver, other) = (start(backend).await, receiver().await, receiver().await);
        let webhook = register(&app, "grain", &receiver.url(), &["load.created"]).await;
        register(&app, "other", &other.url(), &["load.created"]).await;
        let row = |n| format!("grain,Border Grain,Feed Wheat,R-{n},2026-03-01\n");
        let header = "organiserId,organiserName,commodityName,reference,deliveryDateISO\n".to_owned();
        let csv: String = std::iter::once(header).chain((0..40).map(row)).collect();
        let form = batch::form(&[csv.as_bytes()]);
        let stored = app.post("/v1/loads/batch").by(&User::of("grain")).form(form).send().await.ok();
        let messages = messages(&receiver, 40).await;
        let loads: Vec<_> = messages.iter().map(|message| message["data"]["load"]["id"].clone()).collect();
        assert_eq!(json!(loads), stored["ids"]);
        wait_for(&app, &webhook, 40, "delivered").await;
        assert_eq!(receiver.requests().await.len(), 40);
        assert!(other.requests().await.is_empty());
    }
}
