//! Batches that are kept, and the cancellation of their loads.

use super::existing::{send_if, table};
use super::*;

async fn batches(app: &App, user: &User) -> Vec<Value> {
    app.get("/v1/loads/batches").by(user).send().await.ok().as_array().unwrap().clone()
}

async fn cancel_batch(app: &App, user: &User, id: &Value, reason: Option<&str>) -> TestResponse {
    let call = app.post(&format!("/v1/loads/batches/{}/cancel", id.as_str().unwrap())).by(user);
    match reason {
        Some(reason) => call.json(&json!({ "reason": reason })).send().await,
        None => call.send().await,
    }
}

fn numbers(answer: &Value) -> (u64, u64) {
    (answer["count"].as_u64().unwrap(), answer["skipped"].as_u64().unwrap())
}

testkit::on_both! {
    async fn batches_are_kept(backend) {
        let app = app(backend).await;
        let (grain, admin) = (without_org_name("grain"), User::admin());
        let rows = table(&[("", "A", "2026-03-01"), ("", "B", "2026-03-02")]);
        let dry = send(&app, &grain, form(&[rows.as_bytes()]).text("dryRun", "true")).await.ok();
        assert_eq!(dry.get("batchId"), None);
        let more = table(&[("", "C", "2026-03-03")]);
        let first = send(&app, &grain, form(&[rows.as_bytes(), more.as_bytes()])).await.ok();
        for load in loads(&app, &grain, &first).await {
            assert_eq!(load["batchId"], first["batchId"]);
        }
        let edited = table(&[("", "A", "2026-03-01"), ("", "D", "2026-03-04")]).replace("A,2026-03-01,1", "A,2026-03-01,2");
        let second = send_if(&app, &grain, "update", &edited).await.ok();
        // What stores nothing is not kept.
        assert_eq!(send_if(&app, &grain, "update", &edited).await.ok().get("batchId"), None);
        assert_eq!(send_if(&app, &grain, "skip", &rows).await.ok().get("batchId"), None);
        let kept = batches(&app, &grain).await;
        let shown: Vec<_> = kept.iter().map(|b| (&b["id"], &b["files"], &b["count"], &b["updated"])).collect();
        assert_eq!(shown, [
            (&second["batchId"], &json!(["1.csv"]), &json!(1), &json!(1)),
            (&first["batchId"], &json!(["1.csv", "2.csv"]), &json!(3), &json!(0)),
        ]);
        assert_eq!((&kept[0]["userId"], &kept[0]["userName"]), (&grain.claims["sub"], &grain.claims["name"]));
        assert_eq!(batches(&app, &User::of("haul")).await, Vec::<Value>::new());
        assert_eq!(batches(&app, &admin).await, kept);
        let path = "/v1/loads/batches?limit=1&count=true";
        let page = app.get(path).by(&grain).send().await;
        assert_eq!(page.header("x-total-count"), "2");
        let next = app.get(&page.link("next").unwrap()).by(&grain).send().await.ok();
        assert_eq!(next, json!([kept[1]]));
        for (id, count) in [(first["batchId"].as_str().unwrap(), 3), (second["batchId"].as_str().unwrap(), 1), ("x", 0)] {
            for query in ["sortBy=deliveryDateISO", "startDateISO=2026-03-01", "count=true", "query=a%20b%20c%20d%20e"] {
                let found = app.get(&format!("/v1/loads?f:batchId={id}&{query}")).by(&grain).send().await.ok();
                let expected = if query.starts_with("query") { 0 } else { count };
                assert_eq!(found.as_array().unwrap().len(), expected, "{query}");
            }
            let sums = app.get(&format!("/v1/loads/summary?f:batchId={id}")).by(&grain).send().await.ok();
            assert_eq!(sums["total"]["count"], count);
        }
    }

    async fn the_loads_of_a_batch_are_cancelled(backend) {
        let app = app(backend).await;
        let (grain, haul) = (without_org_name("grain"), without_org_name("haul"));
        let names: Vec<String> = (0..450).map(|n| format!("R-{n}")).collect();
        let rows: Vec<_> = names.iter().map(|name| ("", name.as_str(), "2026-03-01")).collect();
        let answer = send_file(&app, table(&rows)).await.ok();
        let (batch, id) = (&answer["batchId"], |n: usize| answer["ids"][n].as_str().unwrap().to_owned());
        let hook = json!({"url": "https://127-0-0-1.invalid/", "events": ["load.cancelled"]});
        app.post("/v1/webhooks").by(&grain).json(&hook).send().await.ok();
        prove(&app, &grain, &id(0), &proof_form()).await.ok();
        cancel(&app, &grain, &id(1)).await.ok();
        let sent = json!({"loadId": id(2), "driverId": "dai"});
        app.post("/v1/loads/send-to-driver").by(&grain).json(&sent).send().await.ok();
        assert_eq!(cancel_batch(&app, &haul, batch, None).await.error(403), "forbidden");
        assert_eq!(cancel_batch(&app, &grain, &json!("0197e0e4-0000-7000-8000-000000000000"), None).await.error(404), "not_found");
        let cancelled = cancel_batch(&app, &grain, batch, Some("Wrong season")).await.ok();
        assert_eq!(numbers(&cancelled), (448, 2));
        assert_eq!((&cancelled["status"], &cancelled["message"]), (&json!("success"), &json!("448 loads were cancelled.")));
        assert_eq!(count_loads(&app).await, 1);
        let load = app.get(&format!("/v1/loads/{}", id(3))).by(&grain).send().await.ok();
        assert_eq!((&load["status"], &load["revision"], &load["batchId"]), (&json!("cancelled"), &json!(2), batch));
        let last = events(&app, &id(3)).await.pop().unwrap();
        assert_eq!((&last["type"], &last["reason"], &last["userId"]), (&json!("cancelled"), &json!("Wrong season"), &grain.claims["sub"]));
        // Each has the notification of its drivers, and a delivery, as after a single cancellation.
        let notified = app.get(&format!("/v1/loads/{}/notifications", id(2))).by(&grain).send().await.ok();
        assert_eq!(notified.as_array().unwrap().iter().filter(|n| n["event"] == "load.cancelled").count(), 1);
        assert_eq!(app.database.count("webhook_deliveries"), 449);
        let again = cancel_batch(&app, &grain, batch, None).await.ok();
        assert_eq!(numbers(&again), (0, 450));
        // A load that was reopened is cancelled again, while the first notification may be pending.
        app.post(&format!("/v1/loads/{}/reopen", id(2))).by(&grain).json(&json!({"reason": "r"})).send().await.ok();
        assert_eq!(numbers(&cancel_batch(&app, &User::admin(), batch, None).await.ok()), (1, 449));
    }

    async fn what_the_caller_may_not_cancel_is_skipped(backend) {
        let app = app(backend).await;
        let haul = without_org_name("haul");
        let header = "reference,deliveryDateISO,commodityId,organiserId,organiserName,carrierId,carrierName\n";
        let rows = format!("{header}A,2026-03-01,1,grain,Grain,haul,Haul\nB,2026-03-01,1,grain,Grain,haul,Haul\n");
        let answer = send(&app, &haul, form(&[rows.as_bytes()])).await.ok();
        let taken = answer["ids"][0].as_str().unwrap();
        patch(&app, &User::of("grain"), taken, &json!({"carrierId": "fast", "carrierName": "Fast"})).await.ok();
        let cancelled = cancel_batch(&app, &haul, &answer["batchId"], None).await.ok();
        assert_eq!((numbers(&cancelled), &cancelled["message"]), ((1, 1), &json!("1 load was cancelled.")));
    }

    async fn the_oldest_batches_go(backend) {
        let app = app(backend).await;
        let answer = send_file(&app, table(&[("", "A", "2026-03-01")])).await.ok();
        let row = match backend {
            Backend::Sqlite => "INSERT INTO load_batches SELECT randomblob(16), 'grain', '', '', '[]', 0, 1, 0 \
                FROM (WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000) SELECT n FROM n)",
            Backend::Postgres => "INSERT INTO logistics.load_batches SELECT gen_random_uuid(), 'grain', '', '', '[]', now(), 1, 0 \
                FROM generate_series(1, 10000)",
        };
        app.database.execute(row);
        let oldest = match backend {
            Backend::Sqlite => "UPDATE load_batches SET id = zeroblob(16) WHERE id = (SELECT min(id) FROM load_batches)",
            Backend::Postgres => "UPDATE logistics.load_batches SET id = '00000000-0000-0000-0000-000000000000' \
                WHERE id = (SELECT id FROM logistics.load_batches ORDER BY id LIMIT 1)",
        };
        app.database.execute(oldest);
        send_file(&app, table(&[("", "B", "2026-03-01")])).await.ok();
        assert_eq!(app.database.count("load_batches"), 10_000);
        let load = loads(&app, &User::of("grain"), &answer).await;
        assert_eq!(load[0]["batchId"], answer["batchId"], "the loads stay");
    }

    async fn an_organisation_creates_so_many_loads_in_an_hour(backend) {
        let app = App::start::<Logistics>(backend, Settings { new_loads_per_hour: 3, ..Settings::default() }).await;
        let (grain, admin) = (without_org_name("grain"), User::admin());
        let create = |key: &str| {
            let call = app.post("/v1/loads/organiser").by(&grain).header("idempotency-key", key);
            call.json(&organiser_form())
        };
        for _ in 0..2 {
            create("a").send().await.ok();
            create("b").send().await.ok();
        }
        let rows = table(&[("", "A", "2026-03-01"), ("", "B", "2026-03-02")]);
        send(&app, &grain, form(&[rows.as_bytes()]).text("dryRun", "true")).await.ok();
        let known = table(&[("", "BG-1", "2026-03-01")]);
        send(&app, &grain, form(&[known.as_bytes()]).text("ifExists", "skip")).await.ok();
        assert_eq!(count_loads(&app).await, 2);
        // Replays, dry runs and skipped rows do not count, and a batch may exceed the limit.
        send(&app, &grain, form(&[rows.as_bytes()])).await.ok();
        let refused = create("c").send().await;
        assert!(refused.header("retry-after").parse::<u64>().unwrap() <= 3600);
        assert_eq!(refused.error(429), "rate_limited");
        let more = table(&[("", "C", "2026-03-03")]);
        assert_eq!(send(&app, &grain, form(&[more.as_bytes()])).await.error(429), "rate_limited");
        create("a").send().await.ok();
        let of_other = with(organiser_form(), "organiserId", json!("other"));
        app.post("/v1/loads/organiser").by(&admin).json(&of_other).send().await.ok();
    }
}
