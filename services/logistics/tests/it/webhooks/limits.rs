//! Limits on what others' acts store, and what receivers answer.

use std::time::{Duration, Instant};

use super::*;

/// Creates loads of an organisation that name `haul` as carrier, by one batch.
async fn create_for_haul(app: &App, organisation: &str, count: usize) {
    let mut csv =
        "reference,deliveryDateISO,commodityId,weight,carrierId,carrierName,organiserId,organiserName\n"
            .to_owned();
    for n in 0..count {
        csv.extend([format!("{organisation}-{n},2026-12-01,1,10,haul,Haul,{organisation},Name\n")]);
    }
    batch::send(app, &without_org_name(organisation), batch::form(&[csv.as_bytes()])).await.ok();
}

testkit::on_both! {
    async fn a_body_is_stored_once_whatever_the_number_of_webhooks(backend) {
        let (app, receiver) = (start(backend).await, receiver().await);
        let mut webhooks = Vec::new();
        for _ in 0..5 {
            webhooks.push(register(&app, "haul", &receiver.url(), &["load.created"]).await);
        }
        create_load(&app).await;
        receiver.wait_for(5).await;
        for webhook in &webhooks {
            wait_for(&app, webhook, 1, "delivered").await;
        }
        let count = |name: &str| app.database.count(&table(backend, name));
        assert_eq!((count("webhook_deliveries"), count("webhook_messages")), (5, 1));
        let bodies: Vec<_> = receiver.requests().await.iter().map(body).collect();
        assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
        for webhook in &webhooks {
            app.call("DELETE", &path(webhook)).by(&User::of("haul")).send().await.ok();
        }
        wait_until(async || count("webhook_messages") == 0).await;
    }

    async fn an_organisation_holds_a_limited_number_of_deliveries(backend) {
        let receiver = WebhookReceiver::start(respond_with(500)).await;
        let limited = Settings { webhook_held_rows: 10, webhook_retry_seconds: 3600, ..settings() };
        let app = App::start::<Logistics>(backend, limited).await;
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        create_for_haul(&app, "grain", 1).await;
        receiver.wait_for(1).await;
        for _ in 0..20 {
            create_load(&app).await;
        }
        let rows = table(backend, "webhook_deliveries");
        wait_until(async || app.database.count(&rows) <= 10).await;
        let causes = |cause: &str| app.database.count(&format!("{rows} WHERE cause_id = '{cause}'"));
        assert_eq!((causes("grain"), causes("haul")), (1, 9));
        assert_eq!(app.database.count(&table(backend, "webhook_messages")), 10);
        assert!(deliveries(&app, &webhook).await.iter().all(|delivery| delivery["status"] == "pending"));
    }

    async fn bodies_expire(backend) {
        let (app, receiver) = (start(backend).await, receiver().await);
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        create_load(&app).await;
        let sent = wait_for(&app, &webhook, 1, "delivered").await;
        let redeliver = format!("{}/deliveries/{}/redeliver", path(&webhook), sent[0]["id"].as_str().unwrap());
        app.post(&redeliver).by(&User::of("haul")).send().await.ok();
        wait_for(&app, &webhook, 1, "delivered").await;
        app.database.execute(&format!("DELETE FROM {}", table(backend, "webhook_messages")));
        let refused = app.post(&redeliver).by(&User::of("haul")).send().await;
        assert_eq!(refused.status, 409);
        assert_eq!(refused.json()["body"]["reason"], "body_expired");
    }

    async fn a_flood_of_a_stranger_delays_no_event_of_a_partner(backend) {
        let receiver = WebhookReceiver::start(respond_with(200).set_delay(Duration::from_millis(20))).await;
        let app = App::start::<Logistics>(backend, settings()).await;
        for _ in 0..5 {
            register(&app, "haul", &receiver.url(), &["load.created"]).await;
        }
        create_for_haul(&app, "stranger", 2_000).await;
        let started = Instant::now();
        create_for_haul(&app, "grain", 1).await;
        wait_until(async || {
            let requests = receiver.requests().await;
            requests.iter().filter(|request| body(request)["data"]["load"]["reference"] == "grain-0").count() == 5
        }).await;
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }

    async fn receivers_decide_the_next_attempt_and_the_end(backend) {
        let app = start(backend).await;
        let asks = WebhookReceiver::start(|_: &Request| respond_with(503).insert_header("retry-after", "3600")).await;
        let gone = WebhookReceiver::start(respond_with(410)).await;
        let asking = register(&app, "haul", &asks.url(), &["load.created"]).await;
        let ended = register(&app, "haul", &gone.url(), &["load.created"]).await;
        create_load(&app).await;
        wait_for(&app, &ended, 1, "failed").await;
        asks.wait_for(1).await;
        let ended = app.get(&path(&ended)).by(&User::of("haul")).send().await.ok();
        assert_eq!(ended["status"], "disabled");
        assert!(ended["disabledReason"].as_str().unwrap().contains("410"), "{ended}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!((asks.requests().await.len(), gone.requests().await.len()), (1, 1));
        let waiting = deliveries(&app, &asking).await;
        assert_eq!((&waiting[0]["status"], &waiting[0]["lastError"]), (&json!("pending"), &json!("status 503")));
    }
}
