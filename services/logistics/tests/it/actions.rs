//! Actions on many loads.

use super::*;

async fn act(app: &App, user: &User, form: &Value) -> TestResponse {
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
            (json!({"action": "eat", "ids": [id, id]}), &["action enum", "ids[1] inconsistent"]),
            (json!({"action": "cancel", "ids": many}), &["ids length"]),
            (json!({"action": "cancel", "ids": [id, id.to_uppercase(), "x", "x"]}), &["ids[1] inconsistent", "ids[3] inconsistent"]),
            (json!({"action": "sendToDriver", "ids": [id]}), &["driverId required"]),
            (json!({"action": "sendToCarrier", "ids": [id], "driverId": "dai"}), &["carrierId required"]),
        ] {
            assert_eq!(act(&app, &grain, &form).await.errors(), errors, "{form}");
        }
    }
}
