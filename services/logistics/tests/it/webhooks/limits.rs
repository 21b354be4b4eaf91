//! Limits on what others' acts store, and what receivers answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
        let count = |name: &str| app.database.count(name);
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
        wait_until(async || app.database.count("webhook_deliveries") <= 10).await;
        let causes = |cause: &str| app.database.count(&format!("webhook_deliveries WHERE cause_id = '{cause}'"));
        assert_eq!((causes("grain"), causes("haul")), (1, 9));
        assert_eq!(app.database.count("webhook_messages"), 10);
        assert!(deliveries(&app, &webhook).await.iter().all(|delivery| delivery["status"] == "pending"));
    }

    async fn an_organisation_holds_a_limited_number_of_bytes(backend) {
        let is_down = Arc::new(AtomicBool::new(false));
        let down = is_down.clone();
        let answer = move |_: &Request| respond_with(if down.load(Ordering::Relaxed) { 500 } else { 200 });
        let receiver = WebhookReceiver::start(answer).await;
        let slow = |held| Settings { webhook_held_bytes: held, webhook_retry_seconds: 3600, ..settings() };
        let app = App::start::<Logistics>(backend, slow(1 << 28)).await;
        let webhooks = [
            register(&app, "haul", &receiver.url(), &["load.created"]).await,
            register(&app, "haul", &receiver.url(), &["load.created"]).await,
        ];
        for _ in 0..4 {
            create_load(&app).await;
        }
        for webhook in &webhooks {
            wait_for(&app, webhook, 4, "delivered").await;
        }
        is_down.store(true, Ordering::Relaxed);
        // Ten bodies, each of which two webhooks get.
        let body = u64::try_from(receiver.requests().await[0].body.len()).unwrap();
        let app = App::start_on::<Logistics>(app.stop().await, slow(10 * body + body / 2)).await;
        create_for_haul(&app, "grain", 1).await;
        let count = |condition: &str| app.database.count(&format!("webhook_deliveries WHERE {condition}"));
        for _ in 0..6 {
            create_load(&app).await;
        }
        wait_until(async || app.database.count("webhook_messages") == 10).await;
        assert_eq!((count("cause_id = 'grain'"), count("cause_id = 'haul'")), (2, 18));
        assert_eq!(count("status = 'delivered'"), 6, "the oldest settled one goes first");
        for _ in 0..6 {
            create_load(&app).await;
        }
        wait_until(async || count("status <> 'pending'") == 0 && app.database.count("webhook_messages") == 10).await;
        assert_eq!((count("cause_id = 'grain'"), count("cause_id = 'haul'")), (2, 18));
    }

    async fn bodies_expire(backend) {
        let app = App::start::<Logistics>(backend, Settings { webhook_retention_days: 90, ..settings() }).await;
        let receiver = receiver().await;
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        let app_stopped = app.stop().await;
        let delivery = |n: usize| format!("01900000-0000-7000-8000-00000000000{n}");
        // Retention: 7 days after delivery, 30 days after failure.
        let settled = [("delivered", 6), ("delivered", 8), ("failed", 29), ("failed", 31)];
        for (n, (status, days)) in settled.into_iter().enumerate() {
            let (id, at) = (backend.id(&delivery(n)), backend.hours_ago(24 * days));
            app_stopped.execute(&format!(
                "INSERT INTO webhook_deliveries (id, webhook_id, event, status, attempts, created_at, pending_since, body, bytes) \
                 VALUES ({id}, '{}', 'load.created', '{status}', 1, {at}, {at}, 'null', 9); \
                 INSERT INTO webhook_messages (id, body) VALUES ({id}, '{{\"n\": {n}}}')",
                webhook["id"].as_str().unwrap(),
            ));
        }
        let app = App::start_on::<Logistics>(app_stopped, Settings { webhook_retention_days: 90, ..settings() }).await;
        wait_until(async || app.database.count("webhook_messages") == 2).await;
        assert_eq!(deliveries(&app, &webhook).await.len(), 4);
        for (n, expires) in [false, true, false, true].into_iter().enumerate() {
            let redeliver = format!("{}/deliveries/{}/redeliver", path(&webhook), delivery(n));
            let answer = app.post(&redeliver).by(&User::of("haul")).send().await;
            if expires {
                assert_eq!(answer.status, 409);
                assert_eq!(answer.json()["body"]["reason"], "body_expired");
            } else {
                answer.ok();
            }
        }
        let bodies: BTreeSet<_> = receiver.wait_for(2).await.iter().map(|request| body(request)["n"].as_u64()).collect();
        assert_eq!(bodies, BTreeSet::from([Some(0), Some(2)]));
    }

    async fn acts_without_an_organisation_take_turns_too(backend) {
        let app = start(backend).await;
        let receiver = WebhookReceiver::start(respond_with(500)).await;
        let app = App::start_on::<Logistics>(app.stop().await, Settings { webhook_retry_seconds: 3600, ..settings() }).await;
        let webhook = register(&app, "haul", &receiver.url(), &["load.created"]).await;
        create_load(&app).await;
        // From now on it gets one event at a time.
        wait_until(async || deliveries(&app, &webhook).await[0].get("lastError").is_some()).await;
        let rows = |cause: &str, count: usize| {
            let id = match backend {
                Backend::Sqlite => "randomblob(16)",
                Backend::Postgres => "gen_random_uuid()",
            };
            let (now, never) = (backend.hours_ago(0), match backend {
                Backend::Sqlite => "253402214400000",
                Backend::Postgres => "'9999-12-31'",
            });
            format!(
                "INSERT INTO webhook_deliveries (id, webhook_id, event, status, attempts, created_at, pending_since, due_at, \
                 claimed_until, cause_id, body) SELECT {id}, '{}', 'load.created', 'pending', 0, {now}, {now}, {now}, {never}, '{cause}', \
                 '{{\"cause\": \"{cause}\"}}' FROM {};",
                webhook["id"].as_str().unwrap(), backend.numbers(count),
            )
        };
        app.database.execute(&format!("BEGIN; {} {} COMMIT", rows("", 30), rows("farm", 5)));
        let requests = receiver.wait_for(13).await;
        let of_farm = requests.iter().take(13).filter(|request| body(request)["cause"] == "farm").count();
        assert_eq!(of_farm, 5);
    }

    async fn a_transaction_stores_a_limited_number_of_deliveries(backend) {
        let app = App::start::<Logistics>(backend, Settings { webhook_retry_seconds: 3600, ..settings() }).await;
        for _ in 0..4 {
            register(&app, "haul", "http://127.0.0.1:1/", &["load.created"]).await;
        }
        app.record_statements();
        // The second batch is large: its loads are stored in several transactions too.
        for (organisation, count, total) in [("grain", 700, 2_800), ("farm", 1_100, 7_200)] {
            create_for_haul(&app, organisation, count).await;
            wait_until(async || app.database.count("webhook_deliveries") == total).await;
        }
        if backend == Backend::Sqlite {
            let statements = app.take_statements();
            let transactions = statements.split(|sql| sql.starts_with("COMMIT"));
            let inserted = |sql: &&String| sql.starts_with("INSERT INTO `webhook_deliveries`");
            let counts: Vec<_> = transactions.map(|sql| sql.iter().filter(inserted).count()).collect();
            assert_eq!(counts.iter().sum::<usize>(), 7_200);
            assert!(counts.iter().all(|count| *count <= 2_000), "{counts:?}");
        }
    }

    async fn bodies_of_the_last_release_count_as_held(backend) {
        let app = App::start::<Logistics>(backend, Settings { webhook_retry_seconds: 3600, ..settings() }).await;
        let receiver = WebhookReceiver::start(respond_with(500)).await;
        register(&app, "haul", &receiver.url(), &["load.created"]).await;
        create_load(&app).await;
        receiver.wait_for(1).await;
        app.database.execute(
            "UPDATE webhook_deliveries SET bytes = 0,
                body = (SELECT body FROM webhook_messages m WHERE m.id = webhook_deliveries.id);
             DELETE FROM webhook_messages"
        );
        let database = app.stop().await;
        let app = App::start_on::<Logistics>(database, settings()).await;
        let length = if backend == Backend::Sqlite { "length(CAST(body AS BLOB))" } else { "octet_length(body::text)" };
        let measured = format!("webhook_deliveries WHERE bytes > 100 AND bytes = {length}");
        wait_until(async || app.database.count(&measured) == 1).await;
    }

    async fn a_flood_of_a_stranger_delays_no_event_of_a_partner(backend) {
        let receiver = WebhookReceiver::start(respond_with(200).set_delay(Duration::from_millis(20))).await;
        let settings = Settings { webhook_timeout_ms: 120_000, ..settings() };
        let app = App::start::<Logistics>(backend, settings).await;
        for _ in 0..5 {
            register(&app, "haul", &receiver.url(), &["load.created"]).await;
        }
        create_for_haul(&app, "stranger", 2_000).await;
        create_for_haul(&app, "grain", 1).await;
        let before = receiver.requests().await.len();
        let of_partner = |request: &Request| String::from_utf8_lossy(&request.body).contains("\"grain-0\"");
        let mut requests = Vec::new();
        wait_until(async || {
            requests = receiver.requests().await;
            requests.iter().filter(|request| of_partner(request)).count() == 5
        }).await;
        // The stranger's deliveries that were under way, and the share of the turns that is its own.
        let last = requests.iter().rposition(of_partner).unwrap();
        assert!(last < before + 1_000, "{before} requests, then {} until the last one", last - before);
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
        // Neither is tried again before a later request is sent.
        let third = receiver().await;
        let later = register(&app, "haul", &third.url(), &["load.created"]).await;
        app.post(&format!("{}/test", path(&later))).by(&User::of("haul")).send().await.ok();
        third.wait_for(1).await;
        assert_eq!((asks.requests().await.len(), gone.requests().await.len()), (1, 1));
        let waiting = deliveries(&app, &asking).await;
        assert_eq!((&waiting[0]["status"], &waiting[0]["lastError"]), (&json!("pending"), &json!("status 503")));
    }
}
