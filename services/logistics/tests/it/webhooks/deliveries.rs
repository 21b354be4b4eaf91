//! Deliveries: their log, redelivery, and the end of those of failing webhooks.

use super::*;

testkit::on_both! {
    async fn deliveries_are_listed_and_redelivered(backend) {
        let (app, haul) = (start(backend).await, User::of("haul"));
        let receiver = WebhookReceiver::start(|request: &Request| {
            respond_with(if String::from_utf8_lossy(&request.body).contains("BAD") { 500 } else { 200 })
        });
        let receiver = receiver.await;
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        for reference in ["GOOD", "BAD"] {
            let form = with(carrier_form(), "reference", json!(reference));
            app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
        }
        let base = format!("{}/deliveries", path(&webhook));
        let list = async |query: &str| app.get(&format!("{base}{query}")).by(&haul).send().await;
        wait_until(async || list("?f:status=failed").await.ok().as_array().unwrap().len() == 1).await;
        let all = list("?count=true").await;
        assert_eq!(all.header("x-total-count"), "2");
        let all = all.ok();
        assert_eq!(all[0], json!({
            "id": all[0]["id"], "event": "load.created", "status": "failed", "attempts": 10,
            "createdAtUTC": all[0]["createdAtUTC"], "lastError": "status 500",
        }));
        assert_eq!(all[1], json!({
            "id": all[1]["id"], "event": "load.created", "status": "delivered", "attempts": 1,
            "createdAtUTC": all[1]["createdAtUTC"], "deliveredAtUTC": all[1]["deliveredAtUTC"],
        }));
        assert_eq!(list("?f:status=delivered").await.ok(), json!([all[1]]));
        assert_eq!(list("?f:status=pending").await.ok(), json!([]));
        assert_eq!(list("?offset=1&limit=1").await.ok(), json!([all[1]]));
        assert_eq!(list("?f:status=other").await.errors(), ["f:status enum"]);

        let redeliver = async |id: &str| app.post(&format!("{base}/{id}/redeliver")).by(&haul).send().await;
        let id = all[1]["id"].as_str().unwrap();
        let again = redeliver(id).await.ok();
        assert_eq!((&again["id"], &again["status"]), (&json!(id), &json!("success")));
        let requests = receiver.wait_for(12).await;
        let of_id = |request: &&Request| header(request, "webhook-id") == id;
        let sent: Vec<_> = requests.iter().filter(of_id).map(|request| &request.body).collect();
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[0], sent[1]);
        redeliver(all[0]["id"].as_str().unwrap()).await.ok();
        receiver.wait_for(22).await;
        wait_until(async || list("?f:status=failed").await.ok()[0]["attempts"] == 10).await;
        for unknown in ["nonsense", "01890a5d-ac96-774b-bcce-b302099a8057"] {
            assert_eq!(redeliver(unknown).await.error(404), "not_found");
        }
    }

    async fn a_webhook_that_fails_for_five_days_is_disabled(backend) {
        let (app, haul) = (start(backend).await, User::of("haul"));
        let receiver = WebhookReceiver::start(respond_with(500)).await;
        let slow = Settings { webhook_retry_seconds: 3600, ..settings() };
        let app = App::start_on::<Logistics>(app.stop().await, slow).await;
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        let read = async || app.get(&path(&webhook)).by(&haul).send().await;
        create_load(&app).await;
        receiver.wait_for(1).await;
        wait_until(async || deliveries(&app, &webhook).await[0].get("lastError").is_some()).await;
        let webhooks = table(backend, "webhooks");
        let age = |hours| format!("UPDATE {webhooks} SET failing_since = {}", backend.hours_ago(hours));
        app.database.execute(&age(5 * 24 - 1));
        create_load(&app).await;
        receiver.wait_for(2).await;
        assert_eq!(read().await.ok()["status"], "active");
        app.database.execute(&age(5 * 24 + 1));
        create_load(&app).await;
        wait_for(&app, &webhook, 3, "failed").await;
        let disabled = read().await;
        assert_eq!(disabled.header("etag"), "\"2\"");
        let disabled = disabled.ok();
        assert_eq!(disabled["status"], "disabled");
        let reason = disabled["disabledReason"].as_str().unwrap();
        assert!(reason.contains("5 days") && reason.contains("status 500"), "{reason}");
        create_load(&app).await;
        assert_eq!(deliveries(&app, &webhook).await.len(), 3, "a disabled webhook gets no events");
        let failed = deliveries(&app, &webhook).await[0]["id"].as_str().unwrap().to_owned();
        for action in ["test".to_owned(), format!("deliveries/{failed}/redeliver")] {
            let refused = app.post(&format!("{}/{action}", path(&webhook))).by(&haul).send().await;
            assert_eq!(refused.error(409), "conflict");
        }
        let enabled = app.call("PATCH", &path(&webhook)).by(&haul).json(&json!({"status": "active"})).send().await.ok();
        assert_eq!((&enabled["status"], enabled.get("disabledReason")), (&json!("active"), None));
        let again = app.post(&format!("{}/deliveries/{failed}/redeliver", path(&webhook))).by(&haul).send().await;
        again.ok();
        receiver.wait_for(4).await;
        assert_eq!(read().await.ok()["status"], "active", "a new period begins");
    }

    async fn pending_deliveries_of_disabled_and_deleted_webhooks_end(backend) {
        let (app, haul) = (start(backend).await, User::of("haul"));
        let receiver = WebhookReceiver::start(respond_with(500)).await;
        let slow = Settings { webhook_retry_seconds: 3600, ..settings() };
        let app = App::start_on::<Logistics>(app.stop().await, slow).await;
        let kept = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        let deleted = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        create_load(&app).await;
        receiver.wait_for(2).await;
        // The first attempt is recorded after its request.
        wait_until(async || deliveries(&app, &kept).await[0]["lastError"] == "status 500").await;
        app.call("DELETE", &path(&deleted)).by(&haul).send().await.ok();
        app.call("PATCH", &path(&kept)).by(&haul).json(&json!({"status": "disabled"})).send().await.ok();
        let all = wait_for(&app, &kept, 1, "failed").await;
        assert_eq!(all[0]["lastError"], "status 500", "of the last attempt");
        // A row of another replica, which did not see that the webhook was disabled.
        let rows = table(backend, "webhook_deliveries");
        app.database.execute(&format!(
            "UPDATE {rows} SET status = 'pending', due_at = {}", backend.hours_ago(1)
        ));
        wait_for(&app, &kept, 1, "failed").await;
        wait_until(async || app.database.count(&rows) == 1).await;
        assert_eq!(app.get(&format!("{}/deliveries", path(&deleted))).by(&haul).send().await.status, 404);
        let (webhooks, past) = (table(backend, "webhooks"), backend.hours_ago(1));
        app.database.execute(&format!("UPDATE {webhooks} SET status_since = {past}"));
        wait_until(async || app.database.count(&webhooks) == 1).await;
        assert_eq!(receiver.requests().await.len(), 2);
    }

    async fn old_deliveries_are_pruned(backend) {
        let (app, receiver) = (start(backend).await, receiver().await);
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        create_load(&app).await;
        create_load(&app).await;
        let all = wait_for(&app, &webhook, 2, "delivered").await;
        let (rows, old) = (table(backend, "webhook_deliveries"), backend.hours_ago(30 * 24 + 1));
        let of_oldest = format!("id IN (SELECT id FROM {rows} ORDER BY id LIMIT 1)");
        app.database.execute(&format!("UPDATE {rows} SET pending_since = {old} WHERE {of_oldest}"));
        let app = App::start_on::<Logistics>(app.stop().await, settings()).await;
        wait_until(async || deliveries(&app, &webhook).await.len() == 1).await;
        assert_eq!(deliveries(&app, &webhook).await, all[..1]);
    }
}
