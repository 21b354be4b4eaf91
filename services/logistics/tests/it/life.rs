//! The life of a load between its creation and its end: collection, rejection, quality, reopening.

use super::*;

async fn post(app: &App, user: &User, id: &str, what: &str, form: &Value) -> TestResponse {
    app.post(&format!("/v1/loads/{id}/{what}")).by(user).json(form).send().await
}

fn quality(values: &[(&str, f64)]) -> Value {
    values.iter().map(|(measure, value)| json!({"measure": measure, "value": value})).collect()
}

fn shown(values: &[(&str, f64, &str)]) -> Value {
    let entry = |(measure, value, unit): &(&str, f64, &str)| json!({"measure": measure, "value": value, "unit": unit});
    values.iter().map(entry).collect()
}

/// Returns a load without what each change raises.
fn content(load: Value) -> Value {
    without_warnings(without(without(load, "revision"), "updatedAtUTC"))
}

testkit::on_both! {
    async fn a_collection_is_recorded_and_replaced(backend) {
        let (app, system) = app_with_files(backend).await;
        let (haul, grain) = (User::of("haul"), User::of("grain"));
        let (id, file) = (create_load(&app).await, system.add("ticket.jpg", &haul));
        let form = json!({
            "weightGross": 44.5, "weightTare": 15, "ticketNumber": "F-1", "vehicleRegistration": "vx21 abc",
            "files": [{"id": file}], "quality": quality(&[("moisture", 14.2), ("hagberg", 280.0)]),
            "capturedAtUTC": "2026-03-01T08:00:00Z",
        });
        let load = post(&app, &haul, &id, "collection", &form).await.ok();
        assert_eq!(load["status"], "collected");
        let collection = &load["collection"];
        assert_eq!(collection["weightNet"], tonnes(29.5));
        assert_eq!(collection["vehicleRegistration"], "VX21 ABC");
        assert_eq!(collection["files"][0]["name"], "ticket.jpg");
        assert_eq!(collection["quality"], shown(&[("moisture", 14.2, "%"), ("hagberg", 280.0, "s")]));
        assert_eq!(collection["atUTC"], "2026-03-01T08:00:00.000Z");
        assert_eq!(load["warnings"][0]["code"], "gross_over_limit");
        assert_eq!(load["warnings"][0]["data"]["maximum"], 44);
        // The load itself keeps its values.
        for member in ["weightNet", "ticketNumber", "vehicleRegistration", "quality"] {
            assert_eq!(load.get(member), None, "{member}");
        }
        assert_eq!(load["files"], json!([]));
        assert_eq!(system.shares().await.len(), 1);

        // The same values again change nothing, whenever they were captured and in whatever order.
        let again = with(form.clone(), "quality", quality(&[("hagberg", 280.0), ("moisture", 14.2)]));
        let again = post(&app, &grain, &id, "collection", &without(again, "capturedAtUTC")).await.ok();
        assert_eq!(again, without(load.clone(), "warnings"));
        let other = post(&app, &haul, &id, "collection", &with(form, "ticketNumber", json!("F-2"))).await.ok();
        assert_eq!(other["collection"]["ticketNumber"], "F-2");
        let history = events(&app, &id).await;
        assert_eq!(history.len(), 3);
        assert_eq!(history[2]["type"], "collected");
        let change = &history[2]["changes"]["collection"];
        assert_eq!((&change["from"]["ticketNumber"], &change["to"]["ticketNumber"]), (&json!("F-1"), &json!("F-2")));
        assert_eq!(change["from"]["files"], json!([{"id": file, "name": "ticket.jpg"}]));
        let stored = app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok();
        assert_eq!(stored, without(other, "warnings"));

        // An empty body records that the vehicle is loaded.
        let id = create_load(&app).await;
        assert_eq!(post(&app, &grain, &id, "collection", &json!({})).await.ok()["status"], "collected");
    }

    async fn wrong_values_are_refused_all_at_once(backend) {
        let app = app(backend).await;
        let (haul, id) = (User::of("haul"), create_load(&app).await);
        let form = json!({
            "weightNet": 2000, "capturedAtUTC": "2126-03-01T08:00:00Z",
            "quality": quality(&[("moisture", 100.5), ("specificWeight", 19.9), ("moisture", 1.0), ("temperature", -30.0)]),
        });
        let errors = post(&app, &haul, &id, "collection", &form).await.errors();
        for error in [
            "capturedAtUTC range", "quality[0].value range", "quality[1].value range", "quality[2].measure inconsistent",
            "weightNet range",
        ] {
            assert!(errors.iter().any(|found| found == error), "{error}: {errors:?}");
        }
        assert_eq!(errors.len(), 5, "{errors:?}");
        for (form, error) in [
            (json!({"quality": quality(&[("colour", 1.0)])}), "quality[0].measure enum"),
            (json!({"weightNet": 30, "weightGross": 44, "weightTare": 15}), "weightNet inconsistent"),
            (json!({"weightGross": 14, "weightTare": 15}), "weightTare inconsistent"),
            (json!({"files": [{"id": "x"}]}), "files[0].id unknown_reference"),
            (json!({"capturedAtUTC": "2025-02-01T08:00:00Z"}), "capturedAtUTC range"),
        ] {
            assert_eq!(post(&app, &haul, &id, "collection", &form).await.errors(), [error], "{form}");
        }
        for (form, error) in [
            (json!({}), "reason required"),
            (json!({"reason": "other"}), "note required"),
            (json!({"reason": "other", "note": " "}), "note required"),
            (json!({"reason": "ugly"}), "reason enum"),
            (json!({"reason": "late", "note": "x".repeat(1001)}), "note length"),
        ] {
            assert_eq!(post(&app, &haul, &id, "rejection", &form).await.errors(), [error], "{form}");
        }
        // What the schema refuses hides no other errors.
        let form = json!({
            "reason": "ugly", "quality": quality(&[("oil", 500.0), ("colour", 1.0), ("oil", 5.0)]), "files": [{"id": "x"}],
            "capturedAtUTC": "2099-01-01",
        });
        assert_eq!(post(&app, &haul, &id, "rejection", &form).await.errors(), [
            "capturedAtUTC range", "files[0].id unknown_reference", "quality[0].value range", "quality[1].measure enum",
            "quality[2].measure inconsistent", "reason enum",
        ]);
        assert_eq!(post(&app, &haul, &id, "reopen", &json!({})).await.errors(), ["reason required"]);
    }

    async fn the_proof_is_compared_with_the_collection(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        let create = || async {
            let form = with(with(carrier_form(), "weight", json!(30)), "dropoffPostcode", json!("D02 AF30"));
            let load = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
            load["id"].as_str().unwrap().to_owned()
        };
        let id = create().await;
        let collected = post(&app, &haul, &id, "collection", &json!({"weightNet": 20})).await.ok();
        assert_eq!(collected["warnings"][0]["data"]["comparedWith"], "weight");
        let form = with(proof_form(), "quality", quality(&[("protein", 12.5)]));
        let form = with(form, "weightGross", json!(45));
        let proven = prove(&app, &haul, &id, &form).await.ok();
        let warnings = proven["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), 1, "46 t are allowed in Ireland: {warnings:?}");
        assert_eq!(warnings[0]["data"], json!({
            "weight": 20, "weightNet": 29, "tolerancePercent": 10, "comparedWith": "collection",
        }));
        assert_eq!(proven["quality"], shown(&[("protein", 12.5, "%")]));
        // Another quality is another proof, and a correction replaces it.
        let reply = prove(&app, &haul, &id, &with(form, "quality", quality(&[("protein", 12.6)]))).await;
        assert_eq!(reply.json()["body"]["reason"], "proof_differs");
        let correction = json!({"quality": quality(&[("oil", 41.0)]), "reason": "misread"});
        let corrected = post(&app, &haul, &id, "proof-of-delivery/corrections", &correction).await.ok();
        assert_eq!(corrected["quality"], shown(&[("oil", 41.0, "%")]));
        assert_eq!(corrected.get("warnings"), None);
    }

    async fn a_rejected_load_is_over_until_it_is_reopened(backend) {
        let (app, system) = app_with_files(backend).await;
        let (haul, grain, dai) = (User::of("haul"), User::of("grain"), User::individual("dai"));
        let id = create_load(&app).await;
        let sent = json!({"loadId": id, "driverId": "dai"});
        app.post("/v1/loads/send-to-driver").by(&grain).json(&sent).send().await.ok();
        let file = system.add("wet.jpg", &dai);
        let form = json!({
            "reason": "quality", "note": "Too wet\nSee the photograph", "files": [{"id": file}],
            "quality": quality(&[("moisture", 19.0)]),
        });
        let rejected = post(&app, &dai, &id, "rejection", &form).await.ok();
        assert_eq!(rejected["status"], "rejected");
        assert_eq!(rejected["rejection"]["note"], "Too wet\nSee the photograph");
        assert_eq!(rejected["rejection"]["files"][0]["id"], file.as_str());
        assert_eq!(post(&app, &haul, &id, "rejection", &form).await.ok(), rejected);
        let reply = post(&app, &haul, &id, "rejection", &json!({"reason": "late"})).await;
        assert_eq!((reply.status, &reply.json()["body"]["reason"]), (409, &json!("rejection_differs")));
        for (what, body) in [
            ("collection", json!({})),
            ("proof-of-delivery", proof_form()),
            ("proof-of-delivery/corrections", json!({"weightNet": 1, "reason": "r"})),
            ("accept", json!({})),
            ("cancel", json!({})),
        ] {
            let reply = post(&app, &grain, &id, what, &body).await;
            assert_eq!((reply.status, &reply.json()["body"]["reason"]), (409, &json!("load_rejected")), "{what}");
        }
        let found = app.get("/v1/loads").by(&grain).send().await.ok();
        assert_eq!(found[0]["id"], id.as_str(), "searches show rejected loads");

        let reopened = post(&app, &grain, &id, "reopen", &json!({"reason": "It was another load"})).await.ok();
        assert_eq!((&reopened["status"], reopened.get("rejection")), (&json!("upcoming"), None));
        let history = events(&app, &id).await;
        let last = history.last().unwrap();
        assert_eq!((&last["type"], &last["reason"]), (&json!("reopened"), &json!("It was another load")));
        assert_eq!(last["changes"]["rejection"]["from"]["reason"], "quality");
        // Another rejection may follow.
        post(&app, &haul, &id, "rejection", &json!({"reason": "late"})).await.ok();
    }

    async fn reopening_undoes_a_proof(backend) {
        let (app, system) = app_with_files(backend).await;
        let (haul, grain) = (User::of("haul"), User::of("grain"));
        let [kept, added] = ["kept.jpg", "added.jpg"].map(|name| system.add(name, &haul));
        let form = with(carrier_form(), "files", json!([{"id": kept}]));
        let form = with(with(form, "ticketNumber", json!("OLD")), "weightNet", json!(28));
        let before = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
        let id = before["id"].as_str().unwrap();
        accept(&app, id).await;
        let proof = with(proof_form(), "files", json!([{"id": added}, {"id": kept}]));
        prove(&app, &haul, id, &with(proof.clone(), "quality", quality(&[("oil", 40.0)]))).await.ok();
        let correction = json!({"weightGross": 44, "weightTare": 15, "reason": "r"});
        post(&app, &haul, id, "proof-of-delivery/corrections", &correction).await.ok();
        assert_eq!(post(&app, &haul, id, "reopen", &json!({"reason": "r"})).await.error(403), "forbidden");
        let reopened = post(&app, &grain, id, "reopen", &json!({"reason": "r"})).await.ok();
        assert_eq!(content(reopened), content(before.clone()));
        let export = app.get("/v1/loads/completed?format=JSON").by(&grain).send().await.ok();
        assert_eq!(export, json!([]));
        let changes = events(&app, id).await.pop().unwrap()["changes"].take();
        assert_eq!(changes["weightNet"], json!({"from": 29, "to": 28}));
        assert!(changes["completedAtUTC"]["from"].is_string(), "{changes}");
        // Reopening again changes nothing, and another proof may follow.
        let again = post(&app, &grain, id, "reopen", &json!({"reason": "again"})).await.ok();
        assert_eq!(content(again), content(before.clone()));
        let proven = prove(&app, &haul, id, &with(proof, "weightNet", json!(27))).await.ok();
        assert_eq!(proven["weightNet"], tonnes(27.0));
    }

    async fn a_collected_load_is_edited_in_part(backend) {
        let app = app(backend).await;
        let (haul, grain) = (User::of("haul"), User::of("grain"));
        let form = with(organiser_form(), "organiserId", json!("grain"));
        let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        patch(&app, &grain, id, &json!({"carrierId": "haul"})).await.ok();
        post(&app, &haul, id, "collection", &json!({})).await.ok();
        for (user, members, status) in [
            (&grain, json!({"reference": "B", "deliveryDateISO": "2026-03-02", "tags": ["x"]}), 200),
            (&grain, json!({"dropoffPostcode": "HR4 9AR"}), 200),
            (&haul, json!({"vehicleRegistration": "V1"}), 200),
            (&grain, json!({"vehicleRegistration": "V2"}), 409),
            (&User::admin(), json!({"vehicleRegistration": "V2"}), 409),
            (&grain, json!({"weight": 20}), 409),
            (&grain, json!({"carrierId": "fast"}), 409),
            (&haul, json!({"weightNet": 20}), 409),
            (&haul, json!({"tags": []}), 403),
        ] {
            let reply = patch(&app, user, id, &members).await;
            assert_eq!(reply.status, status, "{members}");
            if status == 409 {
                assert_eq!(reply.json()["body"]["reason"], "load_collected", "{members}");
            }
        }
        for (body, status) in [
            (json!({"loadId": id, "carrierId": "haul"}), 200),
            (json!({"loadId": id, "carrierId": "fast"}), 409),
        ] {
            let reply = app.post("/v1/loads/send-to-carrier").by(&grain).json(&body).send().await;
            assert_eq!(reply.status, status, "{body}");
        }
        let sent = json!({"loadId": id, "driverId": "dai"});
        app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send().await.ok();
        assert_eq!(cancel(&app, &grain, id).await.json()["body"]["reason"], "load_collected");
    }
}
