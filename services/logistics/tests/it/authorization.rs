//! Access rules: one row for each operation.

use reqwest::multipart::{Form, Part};
use testkit::{AccessCase, AccessRule};

use super::*;

fn batch() -> Form {
    Form::new().text("repeat", "true").part("file", Part::text(batch::VALID_CSV).file_name("1.csv"))
}

testkit::on_both! {
    async fn operations_enforce_access_rules(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul, driver, admin) = (User::of("grain"), User::of("haul"), User::individual("dai"), User::admin());
        let files = json!([{"id": system.add("ticket.jpg", &grain)}]);
        let organiser_form = || with(organiser_form(), "files", files.clone());
        let carrier_form = || with(carrier_form(), "files", files.clone());
        let mut loads = Vec::new();
        for _ in 0..5 {
            let created = app.post("/v1/loads/carrier").by(&without_org_name("haul")).json(&carrier_form()).send().await.ok();
            loads.push(created["id"].as_str().unwrap().to_owned());
        }
        let [load, to_prove, proven, to_reject, to_collect] = &loads[..] else { unreachable!() };
        let to_cancel = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        let to_cancel = to_cancel["id"].as_str().unwrap().to_owned();
        let carried = json!({"loadId": to_cancel, "carrierId": "haul"});
        app.post("/v1/loads/send-to-carrier").by(&grain).json(&carried).send().await.ok();
        let own = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        let proof = json!({"weightNet": 1, "ticketNumber": "SECRET-7", "vehicleRegistration": "V", "files": null});
        for id in [load, to_prove, proven, to_reject, to_collect] {
            let sent = json!({"loadId": id, "driverId": "dai"});
            app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send().await.ok();
        }
        let path = format!("/v1/loads/{load}");
        let drivers = format!("{path}/drivers");
        for name in ["a", "b", "c"] {
            let sent = json!({"loadId": load, "driverId": name});
            app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send().await.ok();
        }
        let (prove, log) = (format!("/v1/loads/{proven}/proof-of-delivery"), format!("{path}/notifications"));
        app.post(&prove).by(&driver).json(&proof).send().await.ok();
        accept(&app, proven).await;

        let imported = Form::new().part("file", Part::text(batch::VALID_CSV).file_name("kept.csv"));
        let batch_id = batch::send(&app, &without_org_name("grain"), imported).await.ok()["batchId"].as_str().unwrap().to_owned();

        // On PostgreSQL the feed ends before the oldest transaction of the server, which other tests use too.
        testkit::wait_until(async || app.get("/v1/events").by(&grain).send().await.text().contains(load)).await;
        let hooks = testkit::webhooks(&app, "haul", "load.created").await;

        // Both parties, the driver and administrators may.
        let read = |path: String| AccessCase::new(path, &[&grain, &haul, &driver, &admin]);
        // Both parties and administrators may, the driver may not.
        let parties = |path: String| AccessCase::new(path, &[&grain, &haul, &admin]).denies(&driver);
        let create = |path: &str, owner: &User, form: Value| AccessCase::new(path, &[owner, &admin]).json(form);
        let all = "/v1/loads?limit=100";
        let send = |to: &str, form: Value| parties(format!("/v1/loads/send-to-{to}")).json(form).leaves_unchanged(&path);
        let own_id = own["id"].as_str().unwrap();
        let every = |path: &str, format: &str| parties(format!("{path}format={format}")).discloses("SECRET-7");
        testkit::assert_access_rules(&app, vec![
            ("search_loads", AccessRule::Scoped(vec![
                parties(all.into()).discloses(load), every("/v1/loads?", "CSV"),
                parties("/v1/loads?f:organiserId=grain&query=HH-1".into()).discloses(load),
                parties("/v1/loads?f:carrierId=haul&sortBy=weight".into()).discloses(load),
            ])),
            ("export_completed_loads", AccessRule::Scoped(vec![
                every("/v1/loads/completed?", "JSON"), every("/v1/loads/completed?", "CSV"),
            ])),
            ("list_loads_by_ids", AccessRule::Scoped(vec![read(format!("/v1/loads/by-ids?ids={load}")).discloses("HH-1")])),
            ("find_load", AccessRule::Restricted(vec![
                read(path.clone()), AccessCase::new(format!("/v1/loads/{own_id}"), &[&grain, &admin]).denies(&haul).denies(&driver),
            ])),
            ("create_load_as_organiser", AccessRule::Restricted(vec![
                create("/v1/loads/organiser", &grain, organiser_form()).denies(&haul).denies(&driver).leaves_unchanged(all),
            ])),
            ("create_load_as_carrier", AccessRule::Restricted(vec![
                create("/v1/loads/carrier", &haul, carrier_form()).denies(&grain).denies(&driver).leaves_unchanged(all),
            ])),
            ("accept_load", AccessRule::Restricted(vec![
                AccessCase::new(format!("{path}/accept"), &[&grain]).denies(&haul).denies(&driver).denies(&admin).leaves_unchanged(path.clone()),
            ])),
            ("create_load_batch", AccessRule::Restricted(vec![
                AccessCase::new("/v1/loads/batch", &[&grain, &admin]).form(batch).denies(&haul).denies(&driver).leaves_unchanged(all),
            ])),
            ("list_load_batches", AccessRule::Scoped(vec![
                AccessCase::new("/v1/loads/batches", &[&grain, &admin]).denies(&haul).denies(&driver).discloses(&batch_id),
            ])),
            ("cancel_load_batch", AccessRule::Restricted(vec![
                AccessCase::new(format!("/v1/loads/batches/{batch_id}/cancel"), &[&grain, &admin]).denies(&haul).denies(&driver)
                    .json(json!({})).leaves_unchanged(all),
            ])),
            ("change_loads", AccessRule::AnyCaller("each load is refused as by the operation on one load")),
            ("summarize_loads", AccessRule::Scoped(vec![
                parties("/v1/loads/summary?groupBy=organiser&f:organiserId=grain".into()).discloses("grain"),
            ])),
            ("find_load_batch_template", AccessRule::AnyCaller("the documentation lists the columns")),
            ("list_commodities", AccessRule::AnyCaller("the catalogue belongs to no organisation")),
            ("update_load", AccessRule::Restricted(vec![
                parties(path.clone()).json(json!({"ticketNumber": "edited"})).leaves_unchanged(path.clone()),
                AccessCase::new(path.clone(), &[&haul, &grain, &admin]).denies(&driver)
                    .json(json!({"pickupPostcode": "edited"})).leaves_unchanged(path.clone()),
                AccessCase::new(format!("/v1/loads/{own_id}"), &[&grain, &admin]).denies(&haul)
                    .json(json!({"reference": "edited"})).leaves_unchanged(format!("/v1/loads/{own_id}")),
            ])),
            ("cancel_load", AccessRule::Restricted(vec![
                AccessCase::new(format!("/v1/loads/{to_cancel}/cancel"), &[&grain, &admin]).denies(&haul).denies(&driver)
                    .json(json!({})).leaves_unchanged(format!("/v1/loads/{to_cancel}")),
            ])),
            ("reopen_load", AccessRule::Restricted(vec![
                AccessCase::new(format!("/v1/loads/{to_cancel}/reopen"), &[&grain, &admin]).denies(&haul).denies(&driver)
                    .json(json!({"reason": "r"})).leaves_unchanged(format!("/v1/loads/{to_cancel}")),
            ])),
            ("collect_load", AccessRule::Restricted(vec![
                read(format!("/v1/loads/{to_collect}/collection")).json(json!({"files": files})).leaves_unchanged(all),
            ])),
            ("reject_load", AccessRule::Restricted(vec![
                read(format!("/v1/loads/{to_reject}/rejection")).json(json!({"reason": "late"})).leaves_unchanged(all),
            ])),
            ("create_note", AccessRule::Restricted(vec![
                read(format!("{path}/notes")).json(json!({"text": "n"})).leaves_unchanged(format!("{path}/events")),
            ])),
            ("correct_proof_of_delivery", AccessRule::Restricted(vec![
                parties(format!("/v1/loads/{proven}/proof-of-delivery/corrections"))
                    .json(json!({"weightGross": 9, "reason": "r"})).leaves_unchanged(format!("/v1/loads/{proven}")),
            ])),
            ("add_files_to_load", AccessRule::Restricted(vec![
                read(format!("{path}/files")).json(json!({"files": files})).leaves_unchanged(path.clone()),
            ])),
            ("list_load_events", AccessRule::Restricted(vec![
                parties(format!("{path}/events")), read(format!("{path}/events?f:type=noted")),
            ])),
            ("list_events", AccessRule::Scoped(vec![
                parties("/v1/events".into()).discloses(load),
                AccessCase::new("/v1/events?f:driverId=me", &[&driver]).denies(&haul).discloses(load),
                AccessCase::new("/v1/events?f:organisationId=haul", &[&haul, &admin]).denies(&grain).discloses(load),
            ])),
            ("stream_events", AccessRule::AnyCaller("a stream has the events that the caller reads in the feed")),
            ("list_load_drivers", AccessRule::Restricted(vec![parties(drivers.clone())])),
            ("revoke_load_driver", AccessRule::Restricted([(&grain, "a"), (&haul, "b"), (&admin, "c")].into_iter().map(
                |(user, name)| AccessCase::new(format!("{drivers}/{name}"), &[user]).denies(&driver).leaves_unchanged(drivers.clone()),
            ).collect())),
            ("list_notifications", AccessRule::Scoped(vec![parties("/v1/notifications".into()).discloses(load)])),
            ("send_load_to_driver", AccessRule::Restricted(vec![
                send("driver", json!({"loadId": load, "driverId": "eve"})),
            ])),
            ("send_load_to_carrier", AccessRule::Restricted(vec![
                send("carrier", json!({"loadId": load, "carrierId": "haul"})),
                // A stranger who became the carrier of a load without one could read it.
                AccessCase::new("/v1/loads/send-to-carrier", &[&grain, &admin]).denies(&haul)
                    .json(json!({"loadId": own_id, "carrierId": "carter"})).leaves_unchanged(format!("/v1/loads/{own_id}")),
            ])),
            ("list_notifications_of_load", AccessRule::Restricted(vec![parties(log.clone())])),
            ("redeliver_notification", AccessRule::Admin),
            ("prove_delivery", AccessRule::Restricted(vec![
                read("/v1/loads/proof-of-delivery".into()).json(with(proof.clone(), "loadId", json!(to_prove))).leaves_unchanged(all),
            ])),
            ("prove_delivery_of_load", AccessRule::Restricted(vec![read(prove).json(proof).leaves_unchanged(all)])),
            ("block_organisation", AccessRule::Member),
            ("unblock_organisation", AccessRule::Member),
            ("list_organisations", AccessRule::Member),
            ("list_drivers", AccessRule::Member),
            ("export_personal_data", AccessRule::Admin),
            ("erase_personal_data", AccessRule::Admin),
            ("find_settings", AccessRule::Admin),
            ("update_settings", AccessRule::Admin),
        ].into_iter().chain(testkit::webhook_access_rules(&hooks, "haul")).collect())
        .await;
        let sent = app.get(&log).by(&admin).send().await.ok();
        let mut recipients: Vec<_> = sent.as_array().unwrap().iter().map(|n| n["recipientId"].to_string()).collect();
        recipients.sort();
        recipients.dedup();
        assert_eq!(recipients, ["\"a\"", "\"b\"", "\"c\"", "\"dai\"", "\"eve\"", "\"haul\""], "only allowed users sent notifications: {sent}");

        // Every load has a file, whose uploader is named by each response with a load.
        let stored = "idempotency_keys WHERE CAST(answer AS TEXT) LIKE '%userName%' AND subject_id";
        assert_eq!(app.database.count(&format!("{stored} IS NULL")), 0, "a handler does not call `names_uploaders`");
        let operations = format!("(SELECT DISTINCT operation FROM {stored} IS NOT NULL) AS named");
        assert_eq!(app.database.count(&operations), 10);
    }
}
