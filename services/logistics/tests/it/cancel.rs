//! Cancelled loads.

use super::*;

/// Returns the number of loads that a search finds, which its count and CSV confirm.
async fn count(app: &App, user: &User, query: &str) -> usize {
    let reply = app.get(&format!("/v1/loads?count=true&{query}")).by(user).send().await;
    let total: usize = reply.header("x-total-count").parse().unwrap();
    let found = reply.ok().as_array().unwrap().len();
    let csv = app.get(&format!("/v1/loads?format=CSV&{query}")).by(user).send().await.text();
    assert_eq!((total, csv.lines().count() - 1), (found, found), "{query}");
    found
}

testkit::on_both! {
    async fn cancelled_loads_keep_the_reason(backend) {
        let app = app(backend).await;
        let (id, grain) = (create_load(&app).await, User::of("grain"));
        let path = format!("/v1/loads/{id}/cancel");
        let too_long = app.post(&path).by(&grain).json(&json!({"reason": "x".repeat(1001)})).send().await;
        assert_eq!(too_long.errors(), ["reason length"]);
        assert_eq!(app.post(&path).by(&grain).json(&json!({"reason": "a\nb"})).send().await.errors(), ["reason format"]);
        assert_eq!(app.post(&path).by(&grain).json(&json!([])).send().await.error(400), "validation_failed");
        assert_eq!(app.post(&path).by(&grain).body("text/plain", "x").send().await.status, 415);
        let before = app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok();
        let reason = "x".repeat(1000);
        let cancelled = app.post(&path).by(&grain).json(&json!({"reason": reason})).send().await.ok();
        assert_eq!(cancelled, revised(with(before, "status", json!("cancelled")), &cancelled));
        let history = events(&app, &id).await;
        assert_eq!((history.len(), &history[1]["type"], &history[1]["reason"]), (2, &json!("cancelled"), &json!(reason)));
        assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok(), cancelled);
    }

    async fn searches_show_cancelled_loads_only_on_request(backend) {
        let app = app(backend).await;
        let (grain, haul, admin) = (User::of("grain"), User::of("haul"), User::admin());
        let (cancelled, completed, upcoming) = (create_load(&app).await, create_load(&app).await, create_load(&app).await);
        for id in [&cancelled, &upcoming] {
            let sent = json!({"loadId": id, "driverId": "dai"});
            app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send().await.ok();
        }
        cancel(&app, &grain, &cancelled).await.ok();
        prove(&app, &haul, &completed, &proof_form()).await.ok();
        accept(&app, &completed).await;
        for user in [&grain, &haul, &admin] {
            for filters in [
                "", "query=hh-1", "startDateISO=2026-03-01", "sortBy=deliveryDateISO", "sortBy=reference",
                "f:organiserId=grain&f:carrierId=haul", "f:carrierId=haul&endDateISO=2026-03-02", "offset=0&sortBy=weight",
            ] {
                assert_eq!(count(&app, user, filters).await, 2, "{filters}");
                for status in ["upcoming", "completed", "cancelled"] {
                    assert_eq!(count(&app, user, &format!("{filters}&f:status={status}")).await, 1, "{filters} {status}");
                }
            }
            let found = app.get("/v1/loads?f:status=cancelled").by(user).send().await.ok();
            assert_eq!(found[0]["id"], cancelled.as_str());
            let by_ids = app.get(&format!("/v1/loads/by-ids?ids={cancelled}")).by(user).send().await.ok();
            assert_eq!(by_ids, found);
            let export = app.get("/v1/loads/completed?format=JSON").by(user).send().await.ok();
            assert_eq!((export.as_array().unwrap().len(), &export[0]["id"]), (1, &json!(completed)));
            for unknown in ["Cancelled", "nonsense", "upcoming,Cancelled"] {
                let reply = app.get(&format!("/v1/loads?f:status={unknown}")).by(user).send().await;
                assert_eq!(reply.errors(), ["f:status enum"]);
            }
        }
        let dai = User::individual("dai");
        assert_eq!(count(&app, &dai, "f:driverId=me").await, 1);
        assert_eq!(count(&app, &dai, "f:driverId=me&f:status=cancelled").await, 1);
    }
}
