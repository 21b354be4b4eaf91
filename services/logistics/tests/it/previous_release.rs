//! Writes of the previous release on this schema, which knows no revisions and no history.

use super::*;

fn types(history: &[Value]) -> Vec<&str> {
    history.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

testkit::on_both! {
    async fn completions_and_acceptances_are_recorded(backend) {
        let app = app(backend).await;
        let id = create_load(&app).await;
        let revision = async |app: &App, id: &str| {
            tag(&app.get(&format!("/v1/loads/{id}")).by(&User::admin()).send().await)
        };
        let now = if backend == Backend::Sqlite { "1772000000000" } else { "'2026-03-01T00:00:00Z'" };
        app.database.execute(&format!("UPDATE loads SET accepted_at = {now}, accepted_by = 'zoe', awaits_acceptance = NULL"));
        assert_eq!(revision(&app, &id).await, 2);
        app.database.execute(&format!("UPDATE loads SET status = 'completed', completed_at = {now}"));
        assert_eq!(revision(&app, &id).await, 3);
        app.database.execute("UPDATE loads SET weight = 5");
        assert_eq!(revision(&app, &id).await, 3);
        let history = events(&app, &id).await;
        assert_eq!(types(&history), ["created", "accepted", "completed"]);
        for event in &history {
            let id = event["id"].as_str().unwrap();
            assert!(id.as_bytes()[14] == b'7' && "89ab".contains(&id[19..20]), "a UUIDv7: {id}");
        }
        assert_eq!((&history[1]["userId"], &history[1]["organisationId"]), (&json!("zoe"), &json!("grain")));
        assert_eq!((history[2].get("userId"), history[2].get("changes")), (None, None));
    }

    async fn reopened_loads_are_as_before_their_proof(backend) {
        let app = app(backend).await;
        let (id, grain) = (create_load(&app).await, User::of("grain"));
        patch(&app, &User::of("haul"), &id, &json!({"ticketNumber": "T-0", "vehicleRegistration": "VX21 ABC"})).await.ok();
        let before = app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok();
        prove(&app, &grain, &id, &proof_form()).await.ok();
        let document = match backend {
            Backend::Sqlite => "json_remove(proof, '$.files_before', '$.values_before')",
            Backend::Postgres => "(proof::jsonb - 'files_before' - 'values_before')::json",
        };
        app.database.execute(&format!("UPDATE loads SET proof = {document}"));
        let reopened = app.post(&format!("/v1/loads/{id}/reopen")).by(&grain).json(&json!({"reason": "Wrong load"})).send().await.ok();
        let shown = |load: &Value| ["status", "weight", "weightNet", "ticketNumber", "vehicleRegistration", "files"].map(|name| load[name].clone());
        assert_eq!(shown(&reopened), shown(&before));
    }

    async fn documents_get_the_revisions_that_it_does_not_write(backend) {
        let app = app(backend).await;
        let (id, haul) = (create_load(&app).await, User::of("haul"));
        patch(&app, &haul, &id, &json!({"ticketNumber": "T-9"})).await.ok();
        let other = create_load(&app).await;
        let read = async |app: &App, id: &str| app.get(&format!("/v1/loads/{id}")).by(&haul).send().await;
        let before = [read(&app, &id).await.ok(), read(&app, &other).await.ok()];
        let document = match backend {
            Backend::Sqlite => "json_remove(document, '$.revision', '$.updatedAtUTC')",
            Backend::Postgres => "(document::jsonb - 'revision' - 'updatedAtUTC')::json",
        };
        app.database.execute(&format!("UPDATE loads SET document = {document}"));
        assert_eq!(read(&app, &id).await.ok().get("revision"), None);
        // A load that changes meanwhile, and then only in its column.
        patch(&app, &haul, &other, &json!({"ticketNumber": "T-8"})).await.ok();
        assert_eq!(revision(&app, &other).await, 2);
        app.database.execute("UPDATE loads SET revision = revision + 1 WHERE revision = 2");
        let app = App::start_on::<Logistics>(app.stop().await, Settings::default()).await;
        for (id, before) in [(&id, &before[0]), (&other, &before[1])] {
            assert_eq!(revision(&app, id).await, 3);
            let after = read(&app, id).await.ok();
            let changed = events(&app, id).await.last().unwrap()["atUTC"].clone();
            assert_eq!(after["updatedAtUTC"], changed);
            let shown = |load: &Value| without(without(without(load.clone(), "revision"), "updatedAtUTC"), "ticketNumber");
            assert_eq!(shown(&after), shown(before));
        }
    }

    async fn documents_get_the_batches_that_it_does_not_write(backend) {
        let app = app(backend).await;
        let answer = batch::send_file(&app, batch::VALID_CSV).await.ok();
        let batch = &answer["batchId"];
        let document = match backend {
            Backend::Sqlite => "json_remove(document, '$.revision', '$.updatedAtUTC', '$.batchId')",
            Backend::Postgres => "(document::jsonb - 'revision' - 'updatedAtUTC' - 'batchId')::json",
        };
        app.database.execute(&format!("UPDATE loads SET document = {document}"));
        let grain = User::of("grain");
        let read = async |app: &App, n: usize| {
            app.get(&format!("/v1/loads/{}", answer["ids"][n].as_str().unwrap())).by(&grain).send().await.ok()
        };
        assert_eq!(read(&app, 0).await.get("batchId"), None);
        // A load that changes meanwhile.
        patch(&app, &grain, answer["ids"][0].as_str().unwrap(), &json!({"tags": ["x"]})).await.ok();
        assert_eq!(read(&app, 0).await["batchId"], *batch);
        let app = App::start_on::<Logistics>(app.stop().await, Settings::default()).await;
        for (n, revision) in [(0, 2), (1, 1)] {
            let load = read(&app, n).await;
            assert_eq!((&load["batchId"], &load["revision"]), (batch, &json!(revision)));
        }
    }

    async fn older_loads_have_the_history_that_is_known(backend) {
        let app = app(backend).await;
        let (id, haul) = (create_load(&app).await, User::of("haul"));
        prove(&app, &haul, &id, &proof_form()).await.ok();
        accept(&app, &id).await;
        app.database.execute("DELETE FROM load_events");
        app.database.execute("UPDATE loads SET creator_id = NULL, creator_name = NULL");
        let load = app.get(&format!("/v1/loads/{id}")).by(&haul).send().await.ok();
        let history = events(&app, &id).await;
        assert_eq!(types(&history), ["created", "completed", "accepted"]);
        assert_eq!((&history[0]["atUTC"], &history[0]["organisationId"]), (&load["createdAtUTC"], &json!("haul")));
        assert_eq!(history[0].get("userId"), None);
        assert_eq!(history[1]["atUTC"], load["completedAtUTC"]);
        assert_eq!(history[2]["userId"], User::of("grain").claims["sub"]);
        let correction = json!({"weightNet": 28, "reason": "misread"});
        app.post(&format!("/v1/loads/{id}/proof-of-delivery/corrections")).by(&haul).json(&correction).send().await.ok();
        let all = events(&app, &id).await;
        assert_eq!(types(&all), ["created", "completed", "accepted", "corrected"]);
        for offset in 0..=4 {
            let path = format!("/v1/loads/{id}/events?limit=1&offset={offset}");
            let page = app.get(&path).by(&haul).send().await.ok();
            assert_eq!(page.as_array().unwrap()[..], all[offset..(offset + 1).min(4)]);
        }
    }

    async fn drivers_of_the_previous_release_have_a_time(backend) {
        let app = app(backend).await;
        let id = create_load(&app).await;
        app.database.execute("INSERT INTO load_drivers (load_id, driver_id) SELECT id, 'dai' FROM loads");
        let listed = app.get(&format!("/v1/loads/{id}/drivers")).by(&User::of("haul")).send().await.ok();
        assert!(listed[0]["sentAtUTC"].as_str().unwrap().starts_with("20"), "{listed}");
        // Whose notification was deleted before the upgrade.
        app.database.execute("UPDATE load_drivers SET sent_at = NULL");
        let load = app.get(&format!("/v1/loads/{id}")).by(&User::of("haul")).send().await.ok();
        let listed = app.get(&format!("/v1/loads/{id}/drivers")).by(&User::of("haul")).send().await.ok();
        assert_eq!(listed, json!([{"driverId": "dai", "sentAtUTC": load["createdAtUTC"]}]));
        let load = app.get("/v1/loads?f:driverId=me").by(&User::individual("dai")).send().await.ok();
        assert_eq!(load[0]["id"], id.as_str());
    }
}
