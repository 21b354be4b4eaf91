//! Sending loads to drivers and carriers.

use super::*;

const UNKNOWN: &str = "0190f5fe-0000-7000-8000-000000000000";

/// Creates a load of `grain` without carrier.
async fn create_unassigned(app: &App, files: Value) -> String {
    let form = with(organiser_form(), "files", files);
    let load = app.post("/v1/loads/organiser").by(&User::of("grain")).json(&form).send().await.ok();
    load["id"].as_str().unwrap().to_owned()
}

fn send_to_carrier(app: &App, user: &User, load: &str, carrier: &str) -> testkit::TestRequest {
    let form = json!({"loadId": load, "carrierId": carrier});
    app.post("/v1/loads/send-to-carrier").by(user).json(&form)
}

testkit::on_both! {
    async fn parties_and_admins_send_loads(backend) {
        let app = app(backend).await;
        let load = create_load(&app).await;
        let driver = json!([{"loadId": load, "driverId": " dai "}]);
        let carrier = json!([{"loadId": load, "carrierId": "haul"}]);
        for (path, form) in [("/v1/loads/send-to-driver", &driver), ("/v1/loads/send-to-carrier", &carrier)] {
            for user in [User::of("grain"), User::of("haul"), User::admin()] {
                app.post(path).by(&user).json(form).send().await.ok();
                wait_until(async || delivery_log(&app, &load).await.iter().all(|entry| entry["status"] == "delivered")).await;
            }
            for user in [User::of("stranger"), User::individual("nobody"), User::individual("dai")] {
                assert_eq!(app.post(path).by(&user).json(form).send().await.error(403), "forbidden");
            }
            assert_eq!(app.post(path).json(form).send().await.error(401), "unauthenticated");
        }
        let listed = delivery_log(&app, &load).await;
        assert_eq!(listed.len(), 6, "sending again stores another notification");
        assert!(listed.is_sorted_by(|a, b| a["id"].as_str() > b["id"].as_str()), "newest first");
        assert!(listed[..3].iter().all(|n| n["event"] == "load.sent_to_carrier" && n["recipientId"] == "haul"));
        assert!(listed[3..].iter().all(|n| n["event"] == "load.sent_to_driver" && n["recipientId"] == "dai"));
    }

    async fn rejects_invalid_and_conflicting_requests(backend) {
        let app = app(backend).await;
        let load = create_load(&app).await;
        let post = |path: &str, form: &Value| app.post(path).by(&User::of("haul")).json(form).send();
        let (driver, carrier) = ("/v1/loads/send-to-driver", "/v1/loads/send-to-carrier");
        assert_eq!(post(driver, &json!({})).await.errors(), ["driverId required", "loadId required"]);
        let invalid = json!({"loadId": load, "carrierId": " ", "carrierName": "x".repeat(201)});
        assert_eq!(post(carrier, &invalid).await.errors(), ["carrierId length", "carrierName length"]);
        for unknown in ["nonsense", UNKNOWN] {
            let form = json!({"loadId": unknown, "driverId": "dai", "carrierId": "haul"});
            assert_eq!(post(driver, &form).await.errors(), ["loadId unknown_reference"]);
            assert_eq!(post(carrier, &form).await.errors(), ["loadId unknown_reference"]);
        }
        assert_eq!(send_to_carrier(&app, &User::of("grain"), &load, "rival").send().await.error(409), "conflict");
        assert_eq!(send_to_carrier(&app, &User::of("rival"), &load, "rival").send().await.error(403), "forbidden");

        let proof = json!({"weightNet": 1, "ticketNumber": "T", "vehicleRegistration": "V", "files": null});
        post(&format!("/v1/loads/{load}/proof-of-delivery"), &proof).await.ok();
        let form = json!({"loadId": load, "driverId": "dai", "carrierId": "haul"});
        assert_eq!(post(driver, &form).await.error(409), "conflict");
        assert_eq!(post(carrier, &form).await.error(409), "conflict");
        assert_eq!(delivery_log(&app, &load).await, Vec::<Value>::new());
    }

    async fn sending_assigns_the_carrier_of_a_load_without_one(backend) {
        let app = app(backend).await;
        let (named, unnamed) = (create_unassigned(&app, json!(null)).await, create_unassigned(&app, json!(null)).await);
        let (grain, haul) = (User::of("grain"), without_org_name("haul"));
        assert_eq!(app.get(&format!("/v1/loads/{named}")).by(&haul).send().await.error(403), "forbidden");
        assert_eq!(send_to_carrier(&app, &haul, &named, "haul").send().await.error(403), "forbidden", "carriers cannot assign themselves");
        let form = json!({"loadId": named, "carrierId": " haul ", "carrierName": " Hereford Haulage "});
        for _ in 0..2 {
            app.post("/v1/loads/send-to-carrier").by(&grain).json(&form).send().await.ok();
        }
        send_to_carrier(&app, &grain, &unnamed, "haul").send().await.ok();
        for (load, name) in [(&named, "Hereford Haulage"), (&unnamed, "Hereford Haulage")] {
            let load = app.get(&format!("/v1/loads/{load}")).by(&haul).send().await.ok();
            assert_eq!(load["carrier"], json!({"id": "haul", "name": name}));
        }
        let loads = app.get("/v1/loads?f:carrierId=haul&query=hereford").by(&haul).send().await.ok();
        assert_eq!(loads.as_array().unwrap().len(), 2, "searches use the new carrier, named as in the address book");
        assert_eq!(send_to_carrier(&app, &grain, &named, "rival").send().await.error(409), "conflict");
    }

    async fn exactly_one_of_concurrent_carriers_is_assigned(backend) {
        let app = app(backend).await;
        let load = create_unassigned(&app, json!(null)).await;
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..12 {
            let sent = send_to_carrier(&app, &User::of("grain"), &load, &format!("carrier-{n}")).send();
            tasks.spawn(async move { (n, sent.await.status) });
        }
        let replies = tasks.join_all().await;
        let succeeded: Vec<_> = replies.iter().filter(|(_, status)| *status == 200).collect();
        assert_eq!(succeeded.len(), 1, "{replies:?}");
        assert!(replies.iter().all(|(_, status)| matches!(status, 200 | 409)), "{replies:?}");
        let winner = format!("carrier-{}", succeeded[0].0);
        let path = format!("/v1/loads/{load}");
        assert_eq!(app.get(&path).by(&User::of(&winner)).send().await.ok()["carrier"]["id"], winner.as_str());
        let sent = app.get(&format!("{path}/notifications")).by(&User::of("grain")).send().await.ok();
        assert_eq!((sent.as_array().unwrap().len(), &sent[0]["recipientId"]), (1, &json!(winner)));
    }

    async fn shares_files_with_the_new_carrier(backend) {
        let (app, system) = app_with_files(backend).await;
        let grain = User::of("grain");
        let file = system.add("ticket.jpg", &grain);
        let load = create_unassigned(&app, json!([{"id": file}])).await;
        let created = system.calls().await.len();
        let driver = json!({"loadId": load, "driverId": "dai"});
        app.post("/v1/loads/send-to-driver").by(&grain).json(&driver).send().await.ok();
        send_to_carrier(&app, &grain, &load, "haul").send().await.ok();
        let lookup = json!({"ids": [file]});
        let shared = json!({"ids": [file], "shareWith": ["haul"]});
        let both = [lookup, shared];
        assert_eq!(system.calls().await[created..], both);
        // Sending again shares again, in case the first share failed.
        send_to_carrier(&app, &grain, &load, "haul").send().await.ok();
        assert_eq!(system.calls().await[created + 2..], both);
    }

    async fn shares_no_files_with_the_second_of_concurrent_carriers(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, file) = (User::of("grain"), system.add("contract.pdf", &User::of("grain")));
        for _ in 0..5 {
            let load = create_unassigned(&app, json!([{"id": file}])).await;
            let before = system.calls().await.len();
            let [first, second] = ["one", "two"].map(|carrier| send_to_carrier(&app, &grain, &load, carrier).send());
            let (first, second) = tokio::join!(first, second);
            let winner = if first.status == 200 { "one" } else { "two" };
            assert_eq!([first.status, second.status].iter().filter(|status| **status == 200).count(), 1);
            let calls = system.calls().await.split_off(before);
            let shared: Vec<_> = calls.iter().filter_map(|call| call.get("shareWith")).collect();
            assert_eq!(shared, [&json!([winner])]);
        }
    }

    async fn assigns_no_carrier_while_system_is_unavailable(backend) {
        let (app, system) = app_with_files(backend).await;
        let file = system.add("ticket.jpg", &User::of("grain"));
        let load = create_unassigned(&app, json!([{"id": file}])).await;
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let without_system = App::start_replica::<Logistics>(&app, settings).await;
        let grain = User::of("grain");
        assert_eq!(send_to_carrier(&without_system, &grain, &load, "haul").send().await.error(503), "dependency_unavailable");
        let found = without_system.get(&format!("/v1/loads/{load}")).by(&grain).send().await.ok();
        assert_eq!(found.get("carrier"), None);
        let sent = without_system.get(&format!("/v1/loads/{load}/notifications")).by(&grain).send().await.ok();
        assert_eq!(sent, json!([]));
        // Loads without files do not need system.
        send_to_carrier(&without_system, &grain, &create_unassigned(&without_system, json!(null)).await, "haul").send().await.ok();
    }

    async fn sends_nothing_again_while_system_is_unavailable(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, file) = (User::of("grain"), system.add("ticket.jpg", &User::of("grain")));
        let load = create_unassigned(&app, json!([{"id": file}])).await;
        send_to_carrier(&app, &grain, &load, "haul").send().await.ok();
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let without_system = App::start_replica::<Logistics>(&app, settings).await;
        assert_eq!(send_to_carrier(&without_system, &grain, &load, "haul").send().await.error(503), "dependency_unavailable");
        wait_for_status(&app, &load, "delivered").await;
        send_to_carrier(&app, &grain, &load, "haul").send().await.ok();
        assert_eq!(delivery_log(&app, &load).await.len(), 2);
    }

    async fn does_not_call_system_without_files_to_share(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul, admin) = (User::of("grain"), User::of("haul"), User::admin());
        let own = create_unassigned(&app, json!([{"id": system.add("ticket.jpg", &grain)}])).await;
        send_to_carrier(&app, &grain, &own, "haul").send().await.ok();
        let form = with(carrier_form(), "files", json!([{"id": system.add("ticket.jpg", &haul)}]));
        let carriers = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
        let carriers = carriers["id"].as_str().unwrap();
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let without_system = App::start_replica::<Logistics>(&app, settings).await;
        // The carrier cannot share the organiser's files, and its own need no share.
        for (user, load) in [(&haul, &*own), (&haul, carriers), (&grain, carriers), (&admin, carriers)] {
            send_to_carrier(&without_system, user, load, "haul").send().await.ok();
        }
        // Callers who may share the organiser's files share them again.
        for user in [&grain, &admin] {
            assert_eq!(send_to_carrier(&without_system, user, &own, "haul").send().await.error(503), "dependency_unavailable");
        }
    }

    async fn parties_and_admins_read_the_delivery_log(backend) {
        let app = app(backend).await;
        let load = create_load(&app).await;
        let id = send(&app, &load).await;
        // Without a webhook, notifications are written to the log.
        let entry = wait_for_status(&app, &load, "delivered").await;
        let members: Vec<_> = entry.as_object().unwrap().keys().collect();
        assert_eq!(members, [
            "attempts", "createdAtUTC", "deliveredAtUTC", "event", "id", "loadId", "recipientId", "status",
        ]);
        assert_eq!((&entry["id"], &entry["attempts"]), (&json!(id), &json!(1)));
        let path = format!("/v1/loads/{load}/notifications");
        for user in [User::of("grain"), User::admin()] {
            assert_eq!(app.get(&path).by(&user).send().await.ok(), json!([entry]));
        }
        for user in [User::of("stranger"), User::individual("dai")] {
            assert_eq!(app.get(&path).by(&user).send().await.error(403), "forbidden");
        }
        for nothing in ["nonsense", UNKNOWN] {
            let reply = app.get(&format!("/v1/loads/{nothing}/notifications")).by(&User::admin()).send().await;
            assert_eq!(reply.error(404), "not_found");
        }
    }
}
