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
            "id": all[0]["id"], "event": "load.created", "loadId": all[0]["loadId"], "status": "failed", "attempts": 10,
            "createdAtUTC": all[0]["createdAtUTC"], "lastError": "status 500",
        }));
        assert_eq!(all[1], json!({
            "id": all[1]["id"], "event": "load.created", "loadId": all[1]["loadId"], "status": "delivered", "attempts": 1,
            "createdAtUTC": all[1]["createdAtUTC"], "deliveredAtUTC": all[1]["deliveredAtUTC"],
        }));
        assert_eq!(list("?f:status=delivered").await.ok(), json!([all[1]]));
        assert_eq!(list("?f:status=pending").await.ok(), json!([]));
        assert_eq!(list("?offset=1&limit=1").await.ok(), json!([all[1]]));
        assert_eq!(list("?f:status=other").await.errors(), ["f:status enum"]);
        assert_eq!(list("?f:event=load.created&count=true").await.header("x-total-count"), "2");
        assert_eq!(list("?f:event=load.updated").await.ok(), json!([]));
        assert_eq!(list("?f:event=webhook.test").await.ok(), json!([]));
        assert_eq!(list("?f:event=other").await.errors(), ["f:event enum"]);

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
        let age = |hours| format!("UPDATE webhooks SET failing_since = {}", backend.hours_ago(hours));
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
        app.database.execute(&format!(
            "UPDATE webhook_deliveries SET status = 'pending', due_at = {}", backend.hours_ago(1)
        ));
        wait_for(&app, &kept, 1, "failed").await;
        wait_until(async || app.database.count("webhook_deliveries") == 1).await;
        assert_eq!(app.get(&format!("{}/deliveries", path(&deleted))).by(&haul).send().await.status, 404);
        let past = backend.hours_ago(1);
        app.database.execute(&format!("UPDATE webhooks SET status_since = {past}"));
        wait_until(async || app.database.count("webhooks") == 1).await;
        assert_eq!(receiver.requests().await.len(), 2);
    }

    async fn old_deliveries_are_pruned(backend) {
        let (app, receiver) = (start(backend).await, receiver().await);
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        create_load(&app).await;
        create_load(&app).await;
        let all = wait_for(&app, &webhook, 2, "delivered").await;
        let old = backend.hours_ago(30 * 24 + 1);
        let of_oldest = "id IN (SELECT id FROM webhook_deliveries ORDER BY id LIMIT 1)";
        app.database.execute(&format!("UPDATE webhook_deliveries SET pending_since = {old} WHERE {of_oldest}"));
        let app = App::start_on::<Logistics>(app.stop().await, settings()).await;
        wait_until(async || deliveries(&app, &webhook).await.len() == 1).await;
        assert_eq!(deliveries(&app, &webhook).await, all[..1]);
    }

    async fn a_delivery_has_its_body_and_its_last_tries(backend) {
        let (app, haul) = (start(backend).await, User::of("haul"));
        let receiver = WebhookReceiver::start(|request: &Request| {
            respond_with(if String::from_utf8_lossy(&request.body).contains("BAD") { 500 } else { 204 })
        });
        let receiver = receiver.await;
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        let base = format!("{}/deliveries", path(&webhook));
        let read = async |delivery: &Value| {
            app.get(&format!("{base}/{}", delivery["id"].as_str().unwrap())).by(&haul).send().await
        };
        let id = create_load(&app).await;
        let listed = wait_for(&app, &webhook, 1, "delivered").await.remove(0);
        assert_eq!(listed["loadId"], id.as_str());
        let details = read(&listed).await.ok();
        let tries = details["tries"].clone();
        assert_eq!(tries, json!([{"atUTC": tries[0]["atUTC"], "durationMs": tries[0]["durationMs"], "status": 204}]));
        assert!(tries[0]["durationMs"].is_u64() && tries[0]["atUTC"].as_str() >= listed["createdAtUTC"].as_str());
        assert_eq!(details["body"], body(&receiver.requests().await[0]));
        assert_eq!(without(without(details, "tries"), "body"), listed);

        let form = with(carrier_form(), "reference", json!("BAD"));
        app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
        wait_until(async || deliveries(&app, &webhook).await[0]["status"] == "failed").await;
        let failed = deliveries(&app, &webhook).await.remove(0);
        let redeliver = format!("{base}/{}/redeliver", failed["id"].as_str().unwrap());
        let before = read(&failed).await.ok()["tries"].clone();
        assert_eq!(before.as_array().unwrap().len(), 10);
        app.post(&redeliver).by(&haul).send().await.ok();
        receiver.wait_for(21).await;
        wait_until(async || deliveries(&app, &webhook).await[0]["status"] == "failed").await;
        let after = read(&failed).await.ok()["tries"].clone();
        assert_eq!(after.as_array().unwrap().len(), 10);
        assert!(after[0]["atUTC"].as_str() > before[9]["atUTC"].as_str(), "the first ones are gone");
        assert_eq!((&after[9]["status"], &after[9]["error"]), (&json!(500), &json!("status 500")));
        app.database.execute("DELETE FROM webhook_messages");
        app.database.execute("UPDATE webhook_deliveries SET bytes = 0");
        assert_eq!(read(&listed).await.ok().get("body"), None);
        assert_eq!(app.post(&redeliver).by(&haul).send().await.json()["body"]["reason"], "body_expired");
        let many = app.post(&format!("{base}/redeliver")).by(&haul).json(&json!({"sinceUTC": "2026-01-01"})).send().await.ok();
        assert_eq!(many["count"], 0, "what has no body is left out");
        for unknown in ["nonsense", "01890a5d-ac96-774b-bcce-b302099a8057"] {
            assert_eq!(app.get(&format!("{base}/{unknown}")).by(&haul).send().await.error(404), "not_found");
        }
    }

    async fn the_deliveries_of_a_period_are_redelivered(backend) {
        let (app, haul) = (start(backend).await, User::of("haul"));
        let is_down = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let down = is_down.clone();
        let answer = move |_: &Request| {
            respond_with(if down.load(std::sync::atomic::Ordering::Relaxed) { 500 } else { 200 })
        };
        let receiver = WebhookReceiver::start(answer).await;
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        for _ in 0..4 {
            create_load(&app).await;
            tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        }
        let mut all = wait_for(&app, &webhook, 4, "failed").await;
        all.reverse();
        is_down.store(false, std::sync::atomic::Ordering::Relaxed);
        let failed = receiver.requests().await.len();
        let again = async |form: Value| {
            app.post(&format!("{}/deliveries/redeliver", path(&webhook))).by(&haul).json(&form).send().await
        };
        let at = |index: usize| all[index]["createdAtUTC"].clone();
        let result = again(json!({"sinceUTC": at(1), "untilUTC": at(2)})).await.ok();
        assert_eq!(result, json!({"message": "2 events are delivered again.", "status": "success", "count": 2}));
        wait_until(async || {
            let now = deliveries(&app, &webhook).await;
            now.iter().filter(|delivery| delivery["status"] == "delivered").count() == 2
        }).await;
        let sent: Vec<_> = receiver.requests().await[failed..].iter().map(|request| header(request, "webhook-id").to_owned()).collect();
        let mut expected = [all[1]["id"].as_str().unwrap(), all[2]["id"].as_str().unwrap()];
        expected.sort_unstable();
        let mut sent: Vec<_> = sent.iter().map(String::as_str).collect();
        sent.sort_unstable();
        assert_eq!(sent, expected);
        assert_eq!(again(json!({"sinceUTC": at(0), "status": "delivered"})).await.ok()["count"], 2);
        wait_until(async || receiver.requests().await.len() == failed + 4).await;
        assert_eq!(again(json!({"sinceUTC": at(0)})).await.ok()["count"], 2, "the first and the last");
        wait_for(&app, &webhook, 4, "delivered").await;
        assert_eq!(again(json!({"sinceUTC": at(0)})).await.ok()["count"], 0);
        for (form, expected) in [
            (json!({}), vec!["sinceUTC required"]),
            (json!({"sinceUTC": "soon", "status": "pending"}), vec!["sinceUTC format", "status enum"]),
            (json!({"sinceUTC": "2026-03-02", "untilUTC": "2026-03-01"}), vec!["sinceUTC inconsistent"]),
        ] {
            let mut errors = again(form.clone()).await.errors();
            errors.sort();
            assert_eq!(errors, expected, "{form}");
        }
        app.call("PATCH", &path(&webhook)).by(&haul).json(&json!({"status": "disabled"})).send().await.ok();
        assert_eq!(again(json!({"sinceUTC": at(0)})).await.json()["body"]["reason"], "webhook_disabled");
    }

    async fn at_most_10000_deliveries_are_redelivered_oldest_first(backend) {
        let (app, haul) = (start(backend).await, User::of("haul"));
        let webhook = register(&app, "haul", "https://127-0-0-1.invalid/", &["load.created"]).await;
        let id = webhook["id"].as_str().unwrap();
        let (key, at, n) = match backend {
            Backend::Sqlite => ("unhex(printf('0195c000%04x70008000000000000000', n))", "1742690000000 + n", "1772000000000"),
            Backend::Postgres => (
                "(lpad('0195c000', 8) || '-' || lpad(to_hex(n), 4, '0') || '-7000-8000-000000000000')::uuid",
                "to_timestamp(1742690000 + n / 1000.0)", "now()",
            ),
        };
        app.database.execute(&format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10003)
             INSERT INTO webhook_deliveries (id, webhook_id, event, status, attempts, created_at, pending_since, bytes, body, claimed_until)
             SELECT {key}, '{id}', 'load.created', 'failed', 10, {at}, {n}, 9, 'null', NULL FROM numbers"
        ));
        let again = app.post(&format!("{}/deliveries/redeliver", path(&webhook))).by(&haul);
        let result = again.json(&json!({"sinceUTC": "2025-01-01T00:00Z"})).send().await.ok();
        assert_eq!((&result["count"], &result["more"]), (&json!(10_000), &json!(true)));
        let untouched = app.database.count("webhook_deliveries WHERE status = 'failed' AND attempts = 10");
        assert_eq!(untouched, 3);
        let newest = app.get(&format!("{}/deliveries?limit=3", path(&webhook))).by(&haul).send().await.ok();
        assert!(newest.as_array().unwrap().iter().all(|delivery| delivery["attempts"] == 10), "{newest}");
    }

    async fn a_test_sends_a_sample_of_each_event(backend) {
        let (app, receiver, haul) = (start(backend).await, receiver().await, User::of("haul"));
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        let test = async |form: Value| app.post(&format!("{}/test", path(&webhook))).by(&haul).json(&form).send().await;
        let document = app.get("/openapi.json").send().await.ok();
        let names = document["components"]["schemas"]["WebhookEventName"]["enum"].as_array().unwrap().clone();
        assert!(names.len() > 9);
        for name in &names {
            test(json!({"event": name})).await.ok();
        }
        let all = wait_for(&app, &webhook, names.len(), "delivered").await;
        let mut sent: Vec<_> = receiver.requests().await.iter().map(body).collect();
        sent.sort_by_key(|message| message["id"].to_string());
        for ((message, name), delivery) in sent.iter().zip(&names).zip(all.iter().rev()) {
            assert_eq!((&message["type"], &message["data"]["test"], &delivery["event"]), (name, &json!(true), name));
            let schema = document["webhooks"][name.as_str().unwrap()]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                .as_str().unwrap().trim_start_matches('#');
            let data = &document.pointer(schema).unwrap()["properties"]["data"];
            for member in message["data"].as_object().unwrap().keys().filter(|member| *member != "test") {
                assert!(data["properties"].get(member).is_some(), "{name} {member}");
            }
            for member in data["required"].as_array().unwrap() {
                assert!(message["data"].get(member.as_str().unwrap()).is_some(), "{name} {member}");
            }
        }
        assert_eq!(test(json!({"event": "webhook.test"})).await.errors(), ["event enum"]);
        let plain = app.post(&format!("{}/test", path(&webhook))).by(&haul).send().await.ok();
        let delivered = receiver.wait_for(names.len() + 1).await;
        let last = delivered.iter().map(body).find(|message| message["id"] == plain["id"]).unwrap();
        assert_eq!(last["data"], json!({"webhookId": webhook["id"]}));
    }
}
