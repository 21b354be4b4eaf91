//! The history of loads.

use super::*;

testkit::on_both! {
    async fn every_change_is_an_event(backend) {
        let app = app(backend).await;
        let (grain, haul, driver) = (User::of("grain"), User::of("haul"), User::individual("dai"));
        let id = create_load(&app).await;
        accept(&app, &id).await;
        patch(&app, &grain, &id, &json!({"weight": 30, "reference": "X"})).await.ok();
        for (path, member, value) in [("driver", "driverId", "dai"), ("driver", "driverId", "eve"), ("carrier", "carrierId", "haul")] {
            let sent = json!({"loadId": id, member: value});
            app.post(&format!("/v1/loads/send-to-{path}")).by(&haul).json(&sent).send().await.ok();
        }
        app.call("DELETE", &format!("/v1/loads/{id}/drivers/eve")).by(&haul).send().await.ok();
        prove(&app, &driver, &id, &proof_form()).await.ok();
        let correction = json!({"weightNet": 28, "reason": "misread"});
        app.post(&format!("/v1/loads/{id}/proof-of-delivery/corrections")).by(&grain).json(&correction).send().await.ok();
        let load = app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok();

        let history = events(&app, &id).await;
        let expected = [
            ("created", &haul, json!(null)), ("accepted", &grain, json!(null)),
            ("updated", &grain, json!({"reference": {"from": "HH-1", "to": "X"}, "weight": {"to": 30}})),
            ("sent_to_driver", &haul, json!({"driverId": {"to": "dai"}})),
            ("sent_to_driver", &haul, json!({"driverId": {"to": "eve"}})),
            ("sent_to_carrier", &haul, json!(null)), ("driver_revoked", &haul, json!({"driverId": {"from": "eve"}})),
            ("completed", &driver, json!({"weightNet": {"to": 29}, "ticketNumber": {"to": "T-1"}, "vehicleRegistration": {"to": "VX21 ABC"}})),
            ("corrected", &grain, json!({"weightNet": {"from": 29, "to": 28}})),
        ];
        assert_eq!(history.len(), expected.len(), "{history:#?}");
        for (event, (kind, user, changes)) in history.iter().zip(expected) {
            assert_eq!(event["type"], kind);
            assert_eq!(event["userId"], user.claims["sub"]);
            assert_eq!(event["userName"], user.claims["name"]);
            assert_eq!(event.get("organisationId"), user.claims.get("org"), "{event}");
            assert_eq!(event["changes"], changes, "{kind}");
            assert_eq!(event.get("reason"), (kind == "corrected").then(|| json!("misread")).as_ref());
            assert!(event["id"].as_str().unwrap().len() == 36 && event["atUTC"].as_str().unwrap().ends_with('Z'));
        }
        assert_eq!(history[0]["atUTC"], load["createdAtUTC"]);
        let times: Vec<_> = history.iter().map(|event| event["atUTC"].as_str().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
        let ids: std::collections::BTreeSet<_> = history.iter().map(|event| event["id"].to_string()).collect();
        assert_eq!(ids.len(), history.len());
    }

    async fn histories_are_paged(backend) {
        let app = app(backend).await;
        let (id, grain) = (create_load(&app).await, User::of("grain"));
        for n in 1..=5 {
            patch(&app, &grain, &id, &json!({"weight": n})).await.ok();
        }
        let all = events(&app, &id).await;
        assert_eq!(all.len(), 6);
        for limit in 1..=7_usize {
            for offset in 0..=7_usize {
                let url = format!("/v1/loads/{id}/events?limit={limit}&offset={offset}&count=true");
                let reply = app.get(&url).by(&grain).send().await;
                assert_eq!(reply.header("x-total-count"), "6");
                let has_next = reply.header("link").contains("rel=\"next\"");
                let page = &all[offset.min(6)..(offset + limit).min(6)];
                assert_eq!((reply.ok(), has_next), (json!(page), offset + limit < 6), "{limit} {offset}");
            }
            let (mut url, mut found) = (format!("/v1/loads/{id}/events?limit={limit}"), Vec::new());
            loop {
                let reply = app.get(&url).by(&grain).send().await;
                let next = super::search::next_url(reply.header("link"));
                found.extend(reply.ok().as_array().unwrap().clone());
                let Some(next) = next else { break };
                next.strip_prefix(&app.url).unwrap().clone_into(&mut url);
            }
            assert_eq!(found, all);
        }
        let errors = app.get(&format!("/v1/loads/{id}/events?limit=101&cursor=x")).by(&grain).send().await.errors();
        assert_eq!(errors, ["cursor format", "limit range"]);
        assert_eq!(app.get("/v1/loads/nonsense/events").by(&grain).send().await.error(404), "not_found");
    }

    async fn batches_record_the_creator_of_each_load(backend) {
        let app = app(backend).await;
        let result = batch::send_file(&app, batch::VALID_CSV.to_owned()).await.ok();
        for id in result["ids"].as_array().unwrap() {
            let history = events(&app, id.as_str().unwrap()).await;
            assert_eq!((history.len(), &history[0]["type"]), (1, &json!("created")));
            assert!(history[0]["userId"].is_string() && history[0]["userName"].is_string(), "{history:?}");
        }
    }

    async fn readers_of_a_load_do_not_all_read_its_history(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        let id = create_load(&app).await;
        patch(&app, &haul, &id, &json!({"carrierId": "fast"})).await.ok();
        // The creator is no party any more.
        assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&haul).send().await.status, 200);
        for path in ["events", "drivers"] {
            let reply = app.get(&format!("/v1/loads/{id}/{path}")).by(&haul).send().await;
            assert_eq!(reply.error(403), "forbidden");
        }
    }
}
