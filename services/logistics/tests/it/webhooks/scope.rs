//! Webhooks for the events of every organisation.

use super::*;

const EVENTS: [&str; 5] =
    ["load.created", "load.updated", "load.accepted", "load.driver_revoked", "load.released"];

async fn register_for_all(app: &App, user: &User, url: &str) -> Value {
    let form = json!({"url": url, "events": EVENTS, "scope": "all"});
    app.post("/v1/webhooks").by(user).json(&form).send().await.ok()
}

testkit::on_both! {
    async fn they_get_the_events_of_every_organisation(backend) {
        let (app, receiver) = (start(backend).await, receiver().await);
        let webhook = register_for_all(&app, &User::admin(), &receiver.url()).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let id = create_load(&app).await;
        accept(&app, &id).await;
        let send = json!({"loadId": id, "driverId": "dai"});
        app.post("/v1/loads/send-to-driver").by(&haul).json(&send).send().await.ok();
        patch(&app, &grain, &id, &json!({"carrierId": "fast"})).await.ok();
        let csv = "reference,deliveryDateISO,commodityId,organiserId,organiserName\nB-1,2026-03-01,10,other,O\nB-2,2026-03-01,10,other,O\n";
        batch::send(&app, &without_org_name("other"), batch::form(&[csv.as_bytes()])).await.ok();
        wait_for(&app, &webhook, 7, "delivered").await;
        let mut messages: Vec<_> = receiver.wait_for(7).await.iter().map(body).collect();
        messages.sort_by_key(|message| message["id"].to_string());
        let types: Vec<_> = messages.iter().map(|message| message["type"].as_str().unwrap()).collect();
        assert_eq!(types, [
            "load.created", "load.accepted", "load.driver_revoked", "load.released", "load.updated", "load.created", "load.created",
        ]);
        // Each once, as the organiser gets them.
        assert_eq!(messages[2]["data"]["load"]["organiser"]["id"], "grain");
        assert_eq!(messages[3]["data"], json!({"load": {"id": id, "reference": "HH-1"}}));
        assert_eq!(messages[4]["data"]["changes"]["carrierId"], json!({"from": "haul", "to": "fast"}));
        assert_eq!(messages[5]["data"], data("other", &messages[5]["data"]["load"], json!({})));
    }

    async fn only_admin_reads_and_manages_them(backend) {
        let (app, admin, grain) = (start(backend).await, User::admin(), User::of("grain"));
        let form = json!({"url": "https://hooks.example/", "events": EVENTS, "scope": "all"});
        assert_eq!(app.post("/v1/webhooks").by(&grain).json(&form).send().await.error(403), "forbidden");
        let own = json!({"url": "https://hooks.example/", "events": EVENTS});
        assert_eq!(app.post("/v1/webhooks").by(&admin).json(&own).send().await.error(403), "forbidden", "of no organisation");
        assert_eq!(app.post("/v1/webhooks").by(&User::individual("ann")).json(&own).send().await.error(403), "forbidden");
        let of_none = app.post("/v1/webhooks").by(&admin).json(&form).send().await.ok();
        let admin_of_grain = User::admin().with("org", "grain");
        let of_grain = app.post("/v1/webhooks").by(&admin_of_grain).json(&form).send().await.ok();
        assert_eq!((&of_none["scope"], &of_grain["scope"]), (&json!("all"), &json!("all")));
        let visible = register(&app, "grain", "https://hooks.example/", &EVENTS).await;
        assert_eq!(visible["scope"], "own");
        let listed = app.get("/v1/webhooks?count=true").by(&grain).send().await;
        assert_eq!((listed.header("x-total-count").to_owned(), listed.ok()[0]["id"].clone()), ("1".to_owned(), visible["id"].clone()));
        assert_eq!(app.get("/v1/webhooks").by(&admin).send().await.ok().as_array().unwrap().len(), 3);
        let patch = async |webhook: &Value, user: &User, members: Value| {
            app.call("PATCH", &path(webhook)).by(user).json(&members).send().await
        };
        for (method, path) in [
            ("GET", path(&of_grain)), ("DELETE", path(&of_grain)), ("GET", format!("{}/deliveries", path(&of_grain))),
            ("POST", format!("{}/test", path(&of_grain))), ("POST", format!("{}/rotate-secret", path(&of_grain))),
        ] {
            assert_eq!(app.call(method, &path).by(&grain).send().await.error(403), "forbidden", "{method} {path}");
        }
        assert_eq!(patch(&visible, &grain, json!({"scope": "all"})).await.error(403), "forbidden");
        assert_eq!(patch(&visible, &grain, json!({"scope": "own"})).await.ok()["revision"], 1);
        assert_eq!(patch(&of_none, &admin, json!({"scope": "own"})).await.errors(), ["scope inconsistent"]);
        assert_eq!(patch(&of_none, &admin, json!({"scope": null})).await.errors(), ["scope required"]);
        assert_eq!(patch(&of_none, &admin, json!({"scope": "some"})).await.errors(), ["scope enum"]);
        create_load(&app).await;
        let deliveries = format!("{}/deliveries", path(&of_grain));
        assert_eq!(app.get(&deliveries).by(&admin).send().await.ok().as_array().unwrap().len(), 1);
        let changed = patch(&of_grain, &admin, json!({"scope": "own"})).await.ok();
        assert_eq!((&changed["scope"], &changed["revision"]), (&json!("own"), &json!(2)));
        for path in [path(&of_grain), deliveries] {
            assert_eq!(app.get(&path).by(&grain).send().await.error(403), "forbidden", "{path} has events of others");
        }
        let listed = app.get("/v1/webhooks").by(&grain).send().await.ok();
        assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &visible["id"]));
        assert_eq!(app.get(&path(&of_grain)).by(&admin).send().await.ok(), changed);
    }
}
