//! The events of loads.

use super::*;

use super::super::events as events_of;

const ALL: [&str; 9] = [
    "load.created",
    "load.updated",
    "load.cancelled",
    "load.completed",
    "load.corrected",
    "load.accepted",
    "load.sent_to_driver",
    "load.sent_to_carrier",
    "load.driver_revoked",
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
        let none = json!({});
        let mut expected = vec![("load.created", data("haul", &read(&id).await, none.clone()))];
        let edit = json!({"ticketNumber": "T-9"});
        patch(&app, &haul, &id, &edit).await.ok();
        let changes = json!({"changes": {"ticketNumber": {"to": "T-9"}}});
        expected.push(("load.updated", data("haul", &read(&id).await, changes)));
        patch(&app, &haul, &id, &edit).await.ok();
        let send = async |to: &str, form: Value| {
            let path = format!("/v1/loads/send-to-{to}");
            app.post(&path).by(&haul).json(&form).send().await.ok()
        };
        send("driver", json!({"loadId": id, "driverId": "dai"})).await;
        let driver = json!({"driverId": "dai", "changes": {"driverId": {"to": "dai"}}});
        expected.push(("load.sent_to_driver", data("haul", &read(&id).await, driver)));
        send("carrier", json!({"loadId": id, "carrierId": "haul"})).await;
        expected.push(("load.sent_to_carrier", data("haul", &read(&id).await, json!({"carrierId": "haul"}))));
        for _ in 0..2 {
            accept(&app, &id).await;
        }
        expected.push(("load.accepted", data("grain", &read(&id).await, none.clone())));
        app.call("DELETE", &format!("/v1/loads/{id}/drivers/dai")).by(&haul).send().await.ok();
        let revoked = json!({"driverId": "dai", "changes": {"driverId": {"from": "dai"}}});
        expected.push(("load.driver_revoked", data("haul", &read(&id).await, revoked)));
        let recorded = async |id: &str| json!({"changes": events_of(&app, id).await.last().unwrap()["changes"]});
        prove(&app, &haul, &id, &proof_form()).await.ok();
        expected.push(("load.completed", data("haul", &read(&id).await, recorded(&id).await)));
        prove(&app, &haul, &id, &proof_form()).await.ok();
        let correction = json!({"weightNet": 28, "reason": "misread"});
        let corrections = format!("/v1/loads/{id}/proof-of-delivery/corrections");
        app.post(&corrections).by(&haul).json(&correction).send().await.ok();
        let changes = json!({"changes": {"weightNet": {"from": 29, "to": 28}}});
        expected.push(("load.corrected", data("haul", &read(&id).await, changes)));
        let other = create_load(&app).await;
        expected.push(("load.created", data("haul", &read(&other).await, none.clone())));
        cancel(&app, &haul, &other).await.ok();
        cancel(&app, &haul, &other).await.ok();
        expected.push(("load.cancelled", data("haul", &read(&other).await, none)));
        wait_for(&app, &webhook, expected.len(), "delivered").await;
        let messages = messages(&receiver, expected.len()).await;
        assert_eq!(messages.len(), expected.len());
        for (message, (event, data)) in messages.iter().zip(&expected) {
            assert_eq!(message, &json!({
                "id": message["id"], "type": event, "timestamp": message["timestamp"], "data": data,
            }));
        }
        for request in receiver.requests().await {
            assert_eq!(header(&request, "drover-webhook-id"), webhook["id"]);
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

    async fn a_new_carrier_does_not_learn_its_predecessor(backend) {
        let app = start(backend).await;
        let (organiser, carrier) = (receiver().await, receiver().await);
        register(&app, "grain", &organiser.url(), &["load.updated"]).await;
        register(&app, "fast", &carrier.url(), &["load.updated"]).await;
        // The organiser makes the change, and then the carrier that created the load.
        for (n, user, shown) in [(1, "grain", Some("grain")), (2, "haul", None)] {
            let id = create_load(&app).await;
            patch(&app, &User::of(user), &id, &json!({"carrierId": "fast"})).await.ok();
            let told = organiser.wait_for(n).await.last().map(body).unwrap();
            assert_eq!(told["data"]["changes"]["carrierId"], json!({"from": "haul", "to": "fast"}));
            assert_eq!(told["data"]["organisationId"], user);
            let read = carrier.wait_for(n).await.last().map(body).unwrap();
            assert_eq!(read["data"]["changes"]["carrierId"], json!({"to": "fast"}));
            assert_eq!(read["data"].get("organisationId"), shown.map(|user| json!(user)).as_ref());
            assert_eq!(read["data"]["load"]["id"], id.as_str());
            assert!(!read["data"]["changes"].to_string().contains("haul"), "{read}");
        }
    }

    async fn users_whom_messages_name_are_exported_and_erased(backend) {
        let (app, receiver) = (start(backend).await, receiver().await);
        let webhook = register(&app, "haul", &receiver.url(), &ALL).await;
        let id = create_load(&app).await;
        let ann = User::of("haul").with("sub", "ann");
        patch(&app, &ann, &id, &json!({"ticketNumber": "T-9"})).await.ok();
        let sent = json!({"loadId": id, "driverId": "ann"});
        app.post("/v1/loads/send-to-driver").by(&User::of("grain")).json(&sent).send().await.ok();
        wait_for(&app, &webhook, 3, "delivered").await;
        let exported = app.get("/v1/users/ann/data").by(&User::admin()).send().await.ok();
        let types: Vec<_> = exported["webhookDeliveries"].as_array().unwrap().iter().map(|d| d["body"]["type"].clone()).collect();
        assert_eq!(types, ["load.updated"]);
        while app.post("/v1/users/ann/erase").by(&User::admin()).send().await.ok()["count"] != 0 {}
        for delivery in deliveries(&app, &webhook).await {
            let delivery = format!("{}/deliveries/{}", path(&webhook), delivery["id"].as_str().unwrap());
            let read = app.get(&delivery).by(&User::of("haul")).send().await.ok();
            assert!(read["body"]["data"]["load"]["id"] == id.as_str() && !read.to_string().contains("\"ann\""), "{read}");
        }
    }
}
