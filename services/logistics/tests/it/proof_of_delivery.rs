//! Proofs of delivery.

use super::*;

fn proof() -> Value {
    json!({"weightNet": 28.62, "ticketNumber": "T-77 ", "vehicleRegistration": "vx21abc", "files": null})
}

testkit::on_both! {
    async fn a_proof_completes_the_load(backend) {
        let (app, system) = app_with_files(backend).await;
        let (id, ticket) = (create_load(&app).await, system.add("signed.jpg", &User::of("grain")));
        let form = with(proof(), "files", json!([{"id": ticket}]));
        let form = with(form, "capturedAtUTC", json!("2026-03-02T08:00:00Z"));
        let path = format!("/v1/loads/{id}/proof-of-delivery");
        let load = app.post(&path).by(&User::of("grain")).json(&json!([form])).send().await.ok();
        assert_eq!(load["status"], "completed");
        assert_eq!(load["completedAtUTC"], "2026-03-02T08:00:00.000Z");
        assert_eq!(load["weightNet"]["weight"], 28.62);
        assert_eq!((&load["ticketNumber"], &load["vehicleRegistration"]), (&json!("T-77"), &json!("VX21ABC")));
        assert_eq!(load["files"][0]["name"], "signed.jpg");
        assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&User::of("haul")).send().await.ok(), load);
        let loads = app.get("/v1/loads?query=t-77&f:status=completed").by(&User::of("haul")).send().await.ok();
        assert_eq!(loads, json!([load]));

        let repeated = app.post(&path).by(&User::of("haul")).json(&form).send().await.ok();
        assert_eq!(repeated, load, "a repeat changes nothing");
        let calls = system.calls().await;
        assert_eq!(calls.len(), 2, "a look-up and a share; none for the repeat");
        assert_eq!(system.shares().await, [json!({"ids": [ticket], "shareWith": ["grain", "haul"]})]);
        for (member, value) in [("weightNet", json!(1)), ("ticketNumber", json!("x")), ("files", json!(null))] {
            let other = with(form.clone(), member, value);
            assert_eq!(app.post(&path).by(&User::of("haul")).json(&other).send().await.error(409), "conflict");
        }
        assert_eq!(system.calls().await, calls, "a different proof is rejected before system is called");
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let without_system = App::start_replica::<Logistics>(&app, settings).await;
        let repeated = without_system.post(&path).by(&User::of("grain")).json(&form).send().await.ok();
        assert_eq!(repeated, load, "a repeat does not need system");
    }

    async fn the_body_can_identify_the_load(backend) {
        let app = app(backend).await;
        let id = create_load(&app).await;
        let post = |form: &Value| app.post("/v1/loads/proof-of-delivery").by(&User::of("haul")).json(form);
        assert_eq!(post(&proof()).send().await.errors(), ["loadId required"]);
        for unknown in ["nonsense", "0190f5fe-0000-7000-8000-000000000000"] {
            let form = with(proof(), "loadId", json!(unknown));
            assert_eq!(post(&form).send().await.errors(), ["loadId unknown_reference"]);
        }
        let form = with(proof(), "loadId", json!(id));
        let stranger = app.post("/v1/loads/proof-of-delivery").by(&User::of("stranger")).json(&form);
        assert_eq!(stranger.send().await.error(403), "forbidden");
        assert_eq!(post(&form).send().await.ok()["status"], "completed");
    }

    async fn rejects_invalid_and_forbidden_proofs(backend) {
        let app = app(backend).await;
        let path = format!("/v1/loads/{}/proof-of-delivery", create_load(&app).await);
        let post = |form: &Value| app.post(&path).by(&User::of("haul")).json(form);
        assert_eq!(post(&json!({})).send().await.errors(), [
            "files required", "ticketNumber required", "vehicleRegistration required", "weightNet required",
        ]);
        let invalid = json!({
            "loadId": "another", "weightNet": null, "ticketNumber": "", "vehicleRegistration": "V", "files": [],
            "capturedAtUTC": "2999-01-01",
        });
        assert_eq!(post(&invalid).send().await.errors(), [
            "capturedAtUTC range", "loadId inconsistent", "ticketNumber length", "weightNet type",
        ]);
        // Errors of the body come before errors of the path.
        let nowhere = app.post("/v1/loads/nonsense/proof-of-delivery").by(&User::of("haul"));
        assert_eq!(nowhere.json(&json!({})).send().await.status, 400);
        let nowhere = app.post("/v1/loads/nonsense/proof-of-delivery").by(&User::of("haul"));
        assert_eq!(nowhere.json(&proof()).send().await.error(404), "not_found");
        assert_eq!(app.post(&path).by(&User::of("other")).json(&proof()).send().await.error(403), "forbidden");
        assert_eq!(app.post(&path).json(&proof()).send().await.error(401), "unauthenticated");
    }

    async fn unknown_files_come_before_access_and_state(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul, other) = (User::of("grain"), User::of("haul"), User::of("other"));
        let unknown = "0190f5fe-0000-7000-8000-000000000000";
        let invalid = with(proof(), "files", json!([{ "id": unknown }]));
        let valid = with(proof(), "files", json!([{"id": system.add("t.jpg", &other)}]));
        let (upcoming, cancelled, proven) = (create_load(&app).await, create_load(&app).await, create_load(&app).await);
        cancel(&app, &grain, &cancelled).await.ok();
        prove(&app, &haul, &proven, &proof()).await.ok();
        for (user, id, status) in [(&other, &*upcoming, 403), (&haul, unknown, 404), (&haul, "nonsense", 404), (&haul, &cancelled, 409)] {
            assert_eq!(prove(&app, user, id, &invalid).await.errors(), ["files[0].id unknown_reference"], "{status}");
        }
        assert_eq!(prove(&app, &other, &upcoming, &valid).await.error(403), "forbidden");
        let in_body = async |id: &str| {
            let form = with(invalid.clone(), "loadId", json!(id));
            app.post("/v1/loads/proof-of-delivery").by(&other).json(&form).send().await.errors()
        };
        assert_eq!(in_body(&upcoming).await, ["files[0].id unknown_reference"]);
        assert_eq!(in_body(unknown).await, ["files[0].id unknown_reference", "loadId unknown_reference"]);
        // Repeats and other values of a proven load are decided before system is asked.
        let calls = system.calls().await.len();
        assert_eq!(prove(&app, &haul, &proven, &proof()).await.status, 200);
        assert_eq!(prove(&app, &haul, &proven, &invalid).await.error(409), "conflict");
        assert_eq!(system.calls().await.len(), calls);
        // Without system the order is the same, without unknown files.
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let without_system = App::start_replica::<Logistics>(&app, settings).await;
        assert_eq!(prove(&without_system, &other, &upcoming, &invalid).await.error(403), "forbidden");
        assert_eq!(prove(&without_system, &haul, &upcoming, &invalid).await.error(503), "dependency_unavailable");
    }

    async fn limits_the_time_of_capture(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        // Delivery dates long before and long after the creation.
        for (delivery, earliest, too_early) in [
            ("2020-03-01", "2019-03-01", "2019-02-27T23:59:59.999Z"),
            ("2999-03-01", "2026-01-01", "2024-01-01"),
        ] {
            let form = with(carrier_form(), "deliveryDateISO", json!(delivery));
            let load = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
            let path = format!("/v1/loads/{}/proof-of-delivery", load["id"].as_str().unwrap());
            for early in [too_early, "0001-01-01"] {
                let form = with(proof(), "capturedAtUTC", json!(early));
                let reply = app.post(&path).by(&haul).json(&form).send().await;
                assert_eq!(reply.errors(), ["capturedAtUTC range"], "{early}");
                // Callers without access learn nothing about its dates.
                assert_eq!(app.post(&path).by(&User::of("other")).json(&form).send().await.error(403), "forbidden");
            }
            let form = with(proof(), "capturedAtUTC", json!(earliest));
            app.post(&path).by(&haul).json(&form).send().await.ok();
            // This check comes before the load's status.
            let early = with(with(proof(), "capturedAtUTC", json!("0001-01-01")), "weightNet", json!(1));
            assert_eq!(app.post(&path).by(&haul).json(&early).send().await.errors(), ["capturedAtUTC range"]);
        }
    }

    async fn exactly_one_of_concurrent_proofs_succeeds(backend) {
        let app = app(backend).await;
        let id = create_load(&app).await;
        let path = format!("/v1/loads/{id}/proof-of-delivery");
        let mut tasks = tokio::task::JoinSet::new();
        for n in 1..=16 {
            let form = with(proof(), "weightNet", json!(n));
            tasks.spawn(app.post(&path).by(&User::of("haul")).json(&form).send());
        }
        let replies = tasks.join_all().await;
        let won: Vec<_> = replies.iter().filter(|reply| reply.status == 200).collect();
        assert_eq!(won.len(), 1);
        assert!(replies.iter().all(|reply| matches!(reply.status, 200 | 409)));
        let load = app.get(&format!("/v1/loads/{id}")).by(&User::of("haul")).send().await.ok();
        assert_eq!(load, won[0].json());
    }
}
