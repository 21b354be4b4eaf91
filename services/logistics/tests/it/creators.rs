//! The creator of a load.

use super::*;

/// Removes the creators of all loads, as if a version without creators had stored them.
fn remove_creators(app: &App, backend: Backend) {
    app.database.execute(match backend {
        Backend::Sqlite => {
            "UPDATE loads SET created_by = NULL, document = json_remove(document, '$.createdBy')"
        }
        Backend::Postgres => {
            "UPDATE logistics.loads SET created_by = NULL, document = (document::jsonb - 'createdBy')::json"
        }
    });
}

testkit::on_both! {
    async fn every_operation_that_creates_loads_stores_the_creator(backend) {
        let app = app(backend).await;
        let mut acting_admin = User::of("office");
        acting_admin.claims["roles"] = json!(["admin"]);
        for (user, path, form, organisation) in [
            (User::of("grain"), "organiser", organiser_form(), json!({"organisationId": "grain"})),
            (User::of("haul"), "carrier", carrier_form(), json!({"organisationId": "haul"})),
            (acting_admin, "carrier", carrier_form(), json!({"organisationId": "office"})),
            (User::admin(), "carrier", carrier_form(), json!(null)),
        ] {
            let load = app.post(&format!("/v1/loads/{path}")).by(&user).json(&form).send().await.ok();
            assert_eq!(load["createdBy"], organisation);
            assert_eq!(load.get("createdBy").is_some(), !organisation.is_null(), "absent, not null");
            let path = format!("/v1/loads/{}", load["id"].as_str().unwrap());
            assert_eq!(app.get(&path).by(&User::admin()).send().await.ok(), load);
            let proof = json!({"weightNet": 1, "ticketNumber": "T", "vehicleRegistration": "V", "files": null});
            let path = format!("{path}/proof-of-delivery");
            let proven = app.post(&path).by(&User::admin()).json(&proof).send().await.ok();
            assert_eq!(proven.get("createdBy"), load.get("createdBy"), "changes preserve it");
        }
        let result = batch::send_file(&app, batch::VALID_CSV).await.ok();
        for load in batch::loads(&app, &User::of("grain"), &result).await {
            assert_eq!(load["createdBy"], json!({"organisationId": "grain"}));
        }
    }

    async fn fills_in_creators_of_loads_of_older_versions_at_start(backend) {
        let app = app(backend).await;
        let organiser_id = json!("gr\"ain\\ \u{1f404}");
        let form = with(organiser_form(), "organiserId", organiser_id.clone());
        let own = app.post("/v1/loads/organiser").by(&User::admin()).json(&form).send().await.ok();
        let without_organiser = without(without(carrier_form(), "organisationId"), "organisationName");
        let carried = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&without_organiser).send().await.ok();
        let id = create_load(&app).await;
        remove_creators(&app, backend);
        let app = App::start_on::<Logistics>(app.stop().await, Settings::default()).await;
        let find = async |id: &str| app.get(&format!("/v1/loads/{id}")).by(&User::admin()).send().await.ok();
        assert_eq!(find(own["id"].as_str().unwrap()).await, with(without_warnings(own), "createdBy", json!({"organisationId": organiser_id})));
        assert_eq!(find(carried["id"].as_str().unwrap()).await, carried);
        assert_eq!(find(&id).await["createdBy"], json!({"organisationId": "grain"}), "the organiser, if there is one");
        let proof = json!({"weightNet": 1, "ticketNumber": "T", "vehicleRegistration": "V", "files": null});
        app.post(&format!("/v1/loads/{id}/proof-of-delivery")).by(&User::of("haul")).json(&proof).send().await.ok();
    }

    async fn creators_that_are_no_party_read_only(backend) {
        let app = app(backend).await;
        let (grain, haul, fast) = (User::of("grain"), User::of("haul"), User::of("fast"));
        let (id, proven) = (create_load(&app).await, create_load(&app).await);
        for id in [&id, &proven] {
            patch(&app, &haul, id, &json!({"carrierId": "fast"})).await.ok();
        }
        prove(&app, &fast, &proven, &proof_form()).await.ok();
        let path = format!("/v1/loads/{id}");
        for (method, path, body) in [
            ("POST", format!("{path}/proof-of-delivery"), proof_form()),
            ("POST", "/v1/loads/proof-of-delivery".into(), with(proof_form(), "loadId", json!(id))),
            // Not even a repeat.
            ("POST", format!("/v1/loads/{proven}/proof-of-delivery"), proof_form()),
            ("POST", format!("/v1/loads/{proven}/proof-of-delivery/corrections"), json!({"weightNet": 1, "reason": "r"})),
            ("POST", "/v1/loads/send-to-driver".into(), json!({"loadId": id, "driverId": "dai"})),
            ("PATCH", path.clone(), json!({"reference": "edited"})),
            ("PATCH", path.clone(), json!({"carrierId": "haul"})),
            ("POST", format!("{path}/cancel"), json!({})),
            ("POST", "/v1/loads/send-to-carrier".into(), json!({"loadId": id, "carrierId": "fast"})),
            ("POST", format!("{path}/accept"), json!({})),
            ("DELETE", format!("{path}/drivers/dai"), json!({})),
            ("GET", format!("{path}/events"), json!({})),
            ("GET", format!("{path}/drivers"), json!({})),
            ("GET", format!("{path}/notifications"), json!({})),
        ] {
            let reply = app.call(method, &path).by(&haul).json(&body).send().await;
            assert_eq!(reply.error(403), "forbidden", "{method} {path}");
        }
        let notifications = app.get("/v1/notifications").by(&haul).send().await.ok();
        assert_eq!(notifications, json!([]));
        for list in ["/v1/loads", "/v1/loads?f:carrierId=fast", "/v1/loads/completed?format=JSON"] {
            assert_eq!(app.get(list).by(&haul).send().await.ok(), json!([]), "{list}");
        }
        app.get(&path).by(&haul).send().await.ok();
        // As the driver it proves, as any driver does.
        let sent = json!({"loadId": id, "driverId": haul.claims["sub"]});
        app.post("/v1/loads/send-to-driver").by(&grain).json(&sent).send().await.ok();
        assert_eq!(prove(&app, &haul, &id, &proof_form()).await.ok()["status"], "completed");
    }

    async fn a_change_fills_in_the_creator_of_an_older_load(backend) {
        let app = app(backend).await;
        let form = without(without(carrier_form(), "organisationId"), "organisationName");
        let (haul, admin) = (User::of("haul"), User::admin());
        let load = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        // No organiser has an id: the carrier counts as the creator, also when it is replaced before the creators are
        // filled in.
        remove_creators(&app, backend);
        let patched = patch(&app, &haul, id, &json!({"carrierId": "fast"})).await.ok();
        assert_eq!((&patched["createdBy"]["organisationId"], &patched["carrier"]["id"]), (&json!("haul"), &json!("fast")));
        app.database.execute("UPDATE loads SET weight = weight WHERE created_by = 'haul'");
        assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&haul).send().await.ok(), without_warnings(patched));
        assert_eq!(events(&app, id).await[0]["organisationId"], "haul");
        // A load that an administrator created keeps having none.
        let created = app.post("/v1/loads/carrier").by(&admin).json(&form).send().await.ok();
        let id = created["id"].as_str().unwrap();
        let patched = patch(&app, &haul, id, &json!({"ticketNumber": "T"})).await.ok();
        assert_eq!(patched.get("createdBy"), None);
        assert_eq!(patch(&app, &haul, id, &json!({"weight": 1})).await.error(403), "forbidden");
    }

    async fn fills_in_creators_of_loads_of_older_replicas(backend) {
        let app = app(backend).await;
        let id = create_load(&app).await;
        remove_creators(&app, backend);
        let find = async || app.get(&format!("/v1/loads/{id}")).by(&User::of("grain")).send().await.ok();
        for _ in 0..300 {
            if find().await.get("createdBy").is_some() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("{}", find().await);
    }

    async fn keeps_creators_of_loads_that_older_replicas_change(backend) {
        let app = app(backend).await;
        let organiser_id = json!("gr\"ain\\ \u{1f404}");
        let form = with(organiser_form(), "organiserId", organiser_id.clone());
        let own = app.post("/v1/loads/organiser").by(&User::of(organiser_id.as_str().unwrap())).json(&form).send().await.ok();
        let no_creator = app.post("/v1/loads/organiser").by(&User::admin()).json(&form).send().await.ok();
        let carried = create_load(&app).await;
        // The previous version writes documents without creators.
        app.database.execute(match backend {
            Backend::Sqlite => "UPDATE loads SET status = 'x', document = json_remove(document, '$.createdBy')",
            Backend::Postgres => {
                "UPDATE logistics.loads SET status = 'x', document = (document::jsonb - 'createdBy')::json"
            }
        });
        let find = async |id: &str| app.get(&format!("/v1/loads/{id}")).by(&User::admin()).send().await.ok();
        assert_eq!(find(own["id"].as_str().unwrap()).await, own);
        assert_eq!(find(no_creator["id"].as_str().unwrap()).await.get("createdBy"), None);
        assert_eq!(find(&carried).await["createdBy"], json!({"organisationId": "haul"}));
    }

    async fn keeps_the_creator_that_a_document_has(backend) {
        let app = app(backend).await;
        // The carrier created it, not the organiser.
        let id = create_load(&app).await;
        app.database.execute("UPDATE loads SET created_by = NULL");
        let app = App::start_on::<Logistics>(app.stop().await, Settings::default()).await;
        let reply = app.get(&format!("/v1/loads/{id}")).by(&User::admin()).send().await;
        assert_eq!(reply.text().matches("createdBy").count(), 1, "{}", reply.text());
        assert_eq!(reply.ok()["createdBy"], json!({"organisationId": "haul"}));
        // The column stores the creator as well.
        app.database.execute(&format!("UPDATE loads SET document = CAST('{{}}' AS {}) WHERE created_by <> 'haul'",
            if backend == Backend::Sqlite { "TEXT" } else { "JSON" }));
        let reply = app.get(&format!("/v1/loads/{id}")).by(&User::admin()).send().await;
        assert_eq!(reply.ok()["createdBy"], json!({"organisationId": "haul"}));
    }
}
