//! Who created a load.

use super::*;

/// Makes the loads of a database those of a version that recorded no creators.
fn forget_creators(app: &App, backend: Backend) {
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
    async fn every_way_of_creating_records_the_creator(backend) {
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
            assert_eq!(proven.get("createdBy"), load.get("createdBy"), "a change keeps it");
        }
        let made = batch::send_file(&app, batch::GOOD).await.ok();
        for load in batch::loads(&app, &User::of("grain"), &made).await {
            assert_eq!(load["createdBy"], json!({"organisationId": "grain"}));
        }
    }

    async fn loads_of_an_older_version_get_theirs(backend) {
        let app = app(backend).await;
        let odd = json!("gr\"ain\\ \u{1f404}");
        let form = with(organiser_form(), "organiserId", odd.clone());
        let own = app.post("/v1/loads/organiser").by(&User::admin()).json(&form).send().await.ok();
        let alone = without(without(carrier_form(), "organisationId"), "organisationName");
        let carried = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&alone).send().await.ok();
        let id = created(&app).await;
        forget_creators(&app, backend);
        let app = App::start_on::<Logistics>(app.stop().await, Settings::default()).await;
        let find = async |id: &str| app.get(&format!("/v1/loads/{id}")).by(&User::admin()).send().await.ok();
        assert_eq!(find(own["id"].as_str().unwrap()).await, with(own, "createdBy", json!({"organisationId": odd})));
        assert_eq!(find(carried["id"].as_str().unwrap()).await, carried);
        assert_eq!(find(&id).await["createdBy"], json!({"organisationId": "grain"}), "the organiser, if there is one");
        let proof = json!({"weightNet": 1, "ticketNumber": "T", "vehicleRegistration": "V", "files": null});
        app.post(&format!("/v1/loads/{id}/proof-of-delivery")).by(&User::of("haul")).json(&proof).send().await.ok();
    }

    async fn what_an_older_replica_stores_beside_it_follows(backend) {
        let app = app(backend).await;
        let id = created(&app).await;
        forget_creators(&app, backend);
        let find = async || app.get(&format!("/v1/loads/{id}")).by(&User::of("grain")).send().await.ok();
        for _ in 0..300 {
            if find().await.get("createdBy").is_some() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("{}", find().await);
    }

    async fn an_older_replica_that_changes_a_load_keeps_its_creator(backend) {
        let app = app(backend).await;
        let odd = json!("gr\"ain\\ \u{1f404}");
        let form = with(organiser_form(), "organiserId", odd.clone());
        let own = app.post("/v1/loads/organiser").by(&User::of(odd.as_str().unwrap())).json(&form).send().await.ok();
        let no_creator = app.post("/v1/loads/organiser").by(&User::admin()).json(&form).send().await.ok();
        let carried = created(&app).await;
        // As the previous version writes a document, which has no creator.
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

    async fn a_document_that_names_its_creator_keeps_it(backend) {
        let app = app(backend).await;
        // Not the organiser.
        let id = created(&app).await;
        let table = if backend == Backend::Sqlite { "loads" } else { "logistics.loads" };
        app.database.execute(&format!("UPDATE {table} SET created_by = NULL"));
        let app = App::start_on::<Logistics>(app.stop().await, Settings::default()).await;
        let reply = app.get(&format!("/v1/loads/{id}")).by(&User::admin()).send().await;
        assert_eq!(reply.text().matches("createdBy").count(), 1, "{}", reply.text());
        assert_eq!(reply.ok()["createdBy"], json!({"organisationId": "haul"}));
        // The column has it too.
        app.database.execute(&format!("UPDATE {table} SET document = CAST('{{}}' AS {}) WHERE created_by <> 'haul'",
            if backend == Backend::Sqlite { "TEXT" } else { "JSON" }));
        let reply = app.get(&format!("/v1/loads/{id}")).by(&User::admin()).send().await;
        assert_eq!(reply.ok()["createdBy"], json!({"organisationId": "haul"}));
    }
}
