//! Weights of proofs of delivery: gross, tare, and the difference from the agreed weight.

use logistics::ToleranceAction;

use super::*;

fn weights(net: f64, gross: Option<f64>, tare: Option<f64>) -> Value {
    let mut form = with(proof_form(), "weightNet", json!(net));
    for (member, weight) in [("weightGross", gross), ("weightTare", tare)] {
        if let Some(weight) = weight {
            form[member] = json!(weight);
        }
    }
    form
}

/// Creates a load with a weight of 30 tonnes.
async fn create(app: &App) -> String {
    let form = with(carrier_form(), "weight", json!(30));
    let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&form).send().await.ok();
    load["id"].as_str().unwrap().to_owned()
}

testkit::on_both! {
    async fn gross_and_tare_agree_with_the_net_weight(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        for (net, gross, tare, agrees) in [
            (29.0, Some(44.0), Some(15.0), true), (29.02, Some(44.0), Some(15.0), true), (28.98, Some(44.0), Some(15.0), true),
            (29.0201, Some(44.0), Some(15.0), false), (28.9799, Some(44.0), Some(15.0), false), (29.0, Some(15.0), Some(44.0), false),
            (29.0, Some(1.0), None, true), (29.0, None, Some(99.0), true),
        ] {
            let id = create(&app).await;
            let reply = prove(&app, &haul, &id, &weights(net, gross, tare)).await;
            if !agrees {
                assert_eq!(reply.errors(), ["weightNet inconsistent"], "{net}");
                continue;
            }
            let load = reply.ok();
            assert_eq!(load.get("weightGross"), gross.map(tonnes).as_ref());
            assert_eq!(load.get("weightTare"), tare.map(tonnes).as_ref());
            assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&haul).send().await.ok(), load);
            // Other weights are another proof.
            assert_eq!(prove(&app, &haul, &id, &weights(net, gross, tare)).await.status, 200);
            let other = weights(net, gross.map(|g| g + 0.001), tare.map(|t| t + 0.001));
            assert_eq!(prove(&app, &haul, &id, &other).await.error(409), "conflict");
        }
        let id = create(&app).await;
        let invalid = weights(1.0, Some(-1.0), Some(1001.0));
        assert_eq!(prove(&app, &haul, &id, &invalid).await.errors(), ["weightGross range", "weightTare range"]);
    }

    async fn a_net_weight_outside_the_tolerance_is_a_warning(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        for (net, warns) in [(33.0, false), (27.0, false), (33.0001, true), (26.9999, true)] {
            let id = create(&app).await;
            let form = weights(net, None, None);
            let load = prove(&app, &haul, &id, &form).await.ok();
            assert_eq!(load.get("warnings").is_some(), warns, "{net}");
            if warns {
                let warning = &load["warnings"][0];
                assert_eq!((&warning["path"], &warning["code"]), (&json!("weightNet"), &json!("weight_differs")));
                assert_eq!(warning["data"], json!({"weight": 30, "weightNet": number(net), "tolerancePercent": 10, "comparedWith": "weight"}));
                assert!(warning["message"].is_string());
            }
            assert_eq!(prove(&app, &haul, &id, &form).await.ok(), load, "a repeat warns too");
            let read = app.get(&format!("/v1/loads/{id}")).by(&haul).send().await.ok();
            assert_eq!(read.get("warnings"), None);
        }
        // After a correction, a repeat of the original proof warns about the present weight.
        for (proven, corrected) in [(40.0, 30.0), (30.0, 40.0)] {
            let id = create(&app).await;
            let original = weights(proven, None, None);
            prove(&app, &haul, &id, &original).await.ok();
            let correction = json!({"weightNet": corrected, "reason": "r"});
            let path = format!("/v1/loads/{id}/proof-of-delivery/corrections");
            let load = app.post(&path).by(&haul).json(&correction).send().await.ok();
            assert_eq!(load.get("warnings").is_some(), corrected > 33.0);
            assert_eq!(prove(&app, &haul, &id, &original).await.ok(), load);
        }
        // Without an agreed weight there is nothing to compare.
        let id = create_load(&app).await;
        assert_eq!(prove(&app, &haul, &id, &weights(900.0, None, None)).await.ok().get("warnings"), None);
    }

    async fn searches_and_sums_find_weights_that_differ(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        for (reference, agreed, collected, net) in [
            ("2 %", Some(30.0), None, Some(30.6)), ("above", Some(30.0), None, Some(30.6001)),
            ("below", Some(30.0), None, Some(29.3999)), ("as collected", Some(30.0), Some(33.0), Some(33.1)),
            ("lost", Some(30.0), Some(33.0), Some(30.0)), ("2 % of collected", None, Some(29.02), Some(29.6004)),
            ("nothing to compare", None, None, Some(30.0)), ("same", Some(30.0), None, Some(30.0)), ("open", Some(30.0), Some(9.0), None),
        ] {
            let form = with(with(carrier_form(), "weight", json!(agreed)), "reference", json!(reference));
            let load = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
            let id = load["id"].as_str().unwrap();
            if let Some(collected) = collected {
                let form = json!({"weightNet": collected});
                app.post(&format!("/v1/loads/{id}/collection")).by(&haul).json(&form).send().await.ok();
            }
            if let Some(net) = net {
                prove(&app, &haul, id, &weights(net, None, None)).await.ok();
            }
        }
        let all = ["2 %", "2 % of collected", "above", "as collected", "below", "lost"];
        for (query, expected) in [
            ("weightDiffersByPercent=2", &["above", "below", "lost"][..]), ("weightDiffersByPercent=0", &all),
            ("weightDiffersByPercent=2&f:status=upcoming,collected", &[]), ("weightDiffersByPercent=9&sortDesc=true", &["lost"]),
            ("weightDiffersByPercent=2&startDateISO=2026-03-02", &[]), ("weightDiffersByPercent=10", &[]),
        ] {
            let found = app.get(&format!("/v1/loads?sortBy=reference&{query}")).by(&haul).send().await.ok();
            let found: Vec<_> = found.as_array().unwrap().iter().map(|load| load["reference"].as_str().unwrap()).collect();
            assert_eq!(found, expected, "{query}");
            let query = query.replace("&sortDesc=true", "");
            let sums = app.get(&format!("/v1/loads/summary?{query}")).by(&haul).send().await.ok();
            assert_eq!(sums["total"]["count"], expected.len(), "{query}");
        }
        for invalid in ["-1", "1001"] {
            let reply = app.get(&format!("/v1/loads?weightDiffersByPercent={invalid}")).by(&haul).send().await;
            assert_eq!(reply.errors(), ["weightDiffersByPercent range"]);
        }
    }

    async fn the_setting_refuses_such_weights(backend) {
        let settings = Settings { weight_tolerance: ToleranceAction::Refuse, weight_tolerance_percent: 5, ..Settings::default() };
        let app = App::start::<Logistics>(backend, settings).await;
        let (id, haul) = (create(&app).await, User::of("haul"));
        let reply = prove(&app, &haul, &id, &weights(32.0, None, None)).await;
        assert_eq!(reply.errors(), ["weightNet inconsistent"]);
        assert_eq!(revision(&app, &id).await, 1);
        prove(&app, &haul, &id, &weights(31.5, None, None)).await.ok();
        let path = format!("/v1/loads/{id}/proof-of-delivery/corrections");
        let correction = json!({"weightNet": 32, "reason": "r"});
        assert_eq!(app.post(&path).by(&haul).json(&correction).send().await.errors(), ["weightNet inconsistent"]);
        // A setting that is stricter than at the proof: the present weight may be repeated.
        let strict = Settings { weight_tolerance: ToleranceAction::Refuse, weight_tolerance_percent: 1, ..Settings::default() };
        let strict = App::start_replica::<Logistics>(&app, strict).await;
        let correction = json!({"weightNet": 31.5, "ticketNumber": "T-2", "reason": "r"});
        let load = strict.post(&path).by(&haul).json(&correction).send().await.ok();
        assert_eq!(load["ticketNumber"], "T-2");
    }
}
