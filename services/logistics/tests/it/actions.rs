//! Actions on many loads, and sums.

use super::*;

async fn act(app: &App, user: &User, form: &Value) -> testkit::TestResponse {
    app.post("/v1/loads/actions").by(user).json(form).send().await
}

fn outcomes(reply: &Value) -> Vec<String> {
    let results = reply["results"].as_array().unwrap();
    let outcome = |result: &Value| {
        let error = &result["error"];
        let detail =
            [&error["code"], &error["reason"]].map(|value| value.as_str().unwrap_or_default().to_owned());
        format!("{} {}", result["status"].as_str().unwrap(), detail.join(" ")).trim().to_owned()
    };
    results.iter().map(outcome).collect()
}

testkit::on_both! {
    async fn each_load_succeeds_or_fails_alone(backend) {
        let app = app_with_pending_notifications(backend).await;
        let (grain, haul, admin) = (User::of("grain"), User::of("haul"), User::admin());
        let (upcoming, cancelled, completed) = (create_load(&app).await, create_load(&app).await, create_load(&app).await);
        cancel(&app, &grain, &cancelled).await.ok();
        prove(&app, &haul, &completed, &proof_form()).await.ok();
        let unknown = "0190f5fe-0000-7000-8000-000000000000";
        let form = json!({"action": "cancel", "ids": [upcoming, cancelled, completed, unknown, "x"], "reason": "twice"});
        let foreign = act(&app, &User::of("mill"), &form).await.ok();
        assert_eq!(outcomes(&foreign)[..3], vec!["failed forbidden"; 3]);
        let call = || app.post("/v1/loads/actions").by(&grain).header("idempotency-key", "\"k\"").json(&form);
        let reply = call().send().await.ok();
        assert_eq!((&reply["done"], &reply["unchanged"], &reply["failed"]), (&json!(1), &json!(1), &json!(3)));
        assert_eq!(
            outcomes(&reply),
            ["done", "unchanged", "failed conflict load_completed", "failed not_found", "failed not_found"]
        );
        assert_eq!(reply["results"][4]["id"], "x");
        assert_eq!(call().send().await.ok(), reply, "a repeat answers the same");
        let history = events(&app, &upcoming).await;
        assert_eq!((history.len(), &history[1]["reason"]), (2, &json!("twice")));

        let ids = [create_load(&app).await, create_load(&app).await];
        let accepted = act(&app, &grain, &json!({"action": "accept", "ids": ids})).await.ok();
        assert_eq!(outcomes(&accepted), ["done", "done"]);
        let again = act(&app, &grain, &json!({"action": "accept", "ids": ids})).await.ok();
        assert_eq!(outcomes(&again), ["unchanged", "unchanged"]);
        let form = json!({"action": "sendToDriver", "ids": ids, "driverId": "dai"});
        let sent = act(&app, &haul, &form).await.ok();
        assert_eq!((outcomes(&sent), &sent["warnings"][0]["code"]), (vec!["done".into(), "done".into()], &json!("unknown_driver")));
        assert_eq!(outcomes(&act(&app, &haul, &form).await.ok()), ["unchanged", "unchanged"]);
        let found = app.get("/v1/loads?f:driverId=me").by(&User::individual("dai")).send().await.ok();
        assert_eq!(found.as_array().unwrap().len(), 2);
        let own = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        let form = json!({"action": "sendToCarrier", "ids": [own["id"], ids[0]], "carrierId": "fast", "carrierName": "Fast"});
        assert_eq!(outcomes(&act(&app, &admin, &form).await.ok()), ["done", "failed conflict carrier_differs"]);
    }

    async fn invalid_actions_name_their_faults(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        let many: Vec<_> = (0..201).map(|n| n.to_string()).collect();
        let id = "0190f5fe-0000-7000-8000-00000000000a";
        for (form, errors) in [
            (json!({}), &["action required", "ids required"][..]),
            (json!({"action": "eat", "ids": []}), &["action enum", "ids length"]),
            (json!({"action": "cancel", "ids": many}), &["ids length"]),
            (json!({"action": "cancel", "ids": [id, id.to_uppercase(), "x", "x"]}), &["ids[1] inconsistent", "ids[3] inconsistent"]),
            (json!({"action": "sendToDriver", "ids": [id]}), &["driverId required"]),
            (json!({"action": "sendToCarrier", "ids": [id], "driverId": "dai"}), &["carrierId required"]),
        ] {
            assert_eq!(act(&app, &grain, &form).await.errors(), errors, "{form}");
        }
    }

    async fn sums_agree_with_the_search(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let mut ids = Vec::new();
        for (carrier, commodity, weight, date) in [
            ("haul", 1, json!(10.0001), "2026-03-28"),
            ("haul", 2, json!(20.5), "2026-03-29"),
            ("haul", 1, json!(0.0002), "2026-03-29T23:30:00Z"),
            ("", 1, json!(5), "2026-04-01"),
            ("fast", 1, json!(1), "2026-03-28"),
        ] {
            let form = with(with(organiser_form(), "commodityId", json!(commodity)), "weight", weight);
            let form = with(with(form, "deliveryDateISO", json!(date)), "weightNet", json!(1));
            let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
            let id = load["id"].as_str().unwrap().to_owned();
            if !carrier.is_empty() {
                patch(&app, &grain, &id, &json!({"carrierId": carrier, "carrierName": "The carrier"})).await.ok();
            }
            ids.push(id);
        }
        cancel(&app, &grain, &ids[4]).await.ok();
        let sums = async |user: &User, query: &str| app.get(&format!("/v1/loads/summary?{query}")).by(user).send().await.ok();
        let group = |key: &str, name: Option<&str>, count: i64, weight: f64, net: f64| {
            let mut group = json!({"key": key, "count": count, "weight": number(weight), "weightNet": number(net)});
            if let Some(name) = name {
                group["name"] = json!(name);
            }
            group
        };
        let total = json!({"count": 4, "weight": 35.5003, "weightNet": 4});
        assert_eq!(sums(&grain, "").await, json!({"total": total}));
        let names = app.get("/v1/commodities").by(&grain).send().await.ok();
        let name = |id: i64| names.as_array().unwrap().iter().find(|entry| entry["id"] == id).unwrap()["name"].as_str().unwrap().to_owned();
        let by_commodity = sums(&grain, "groupBy=commodity").await;
        assert_eq!(by_commodity["total"], total);
        assert_eq!(by_commodity["groups"], json!([
            group("1", Some(&name(1)), 3, 15.0003, 3.0), group("2", Some(&name(2)), 1, 20.5, 1.0),
        ]));
        let by_carrier = sums(&grain, "groupBy=carrier").await;
        assert_eq!(by_carrier["groups"], json!([
            group("haul", Some("The carrier"), 3, 30.5003, 3.0), group("none", None, 1, 5.0, 1.0),
        ]));
        // The clocks go forward on 29 March: 23:30 is on the 30th.
        for (query, keys) in [
            ("groupBy=day", &["2026-03-28", "2026-03-29", "2026-03-30", "2026-04-01"][..]),
            ("groupBy=day&timeZone=UTC", &["2026-03-28", "2026-03-29", "2026-04-01"]),
            ("groupBy=week", &["2026-W13", "2026-W14"]),
            ("groupBy=month", &["2026-03", "2026-04"]),
            ("groupBy=status", &["upcoming"]),
            ("groupBy=status&f:status=upcoming,cancelled", &["upcoming", "cancelled"]),
            ("groupBy=organiser&f:carrierId=haul", &["grain"]),
            ("groupBy=month&dateBy=completion", &["none"]),
        ] {
            let found = sums(&grain, query).await;
            let found: Vec<_> = found["groups"].as_array().unwrap().iter().map(|group| group["key"].as_str().unwrap()).collect();
            assert_eq!(found, keys, "{query}");
        }
        assert_eq!(sums(&haul, "groupBy=status").await["total"]["count"], 3);
        assert_eq!(sums(&User::of("mill"), "groupBy=carrier").await, json!({"total": {"count": 0, "weight": 0, "weightNet": 0}, "groups": []}));
        let csv = app.get("/v1/loads/summary?groupBy=carrier&format=CSV").by(&grain).send().await.text();
        assert_eq!(csv, "key,name,count,weight,weightNet\r\nhaul,The carrier,3,30.5003,3\r\nnone,,1,5,1\r\n");
        let xlsx = app.get("/v1/loads/summary?groupBy=carrier&format=XLSX").by(&grain).send().await;
        assert_eq!(xlsx.status, 200);
        let reply = app.get("/v1/loads/summary?groupBy=year&dateBy=x&timeZone=Mars&f:x=1").by(&grain).send().await;
        assert_eq!(reply.errors(), ["dateBy enum", "f:x enum", "groupBy enum", "timeZone enum"]);
    }
}
