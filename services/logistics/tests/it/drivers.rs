//! Access of drivers to loads that were sent to them.

use testkit::TestDatabase;

use super::*;

/// Returns the table of the sendings to drivers, and the time that was this number of seconds ago.
fn driver_sendings(backend: Backend, seconds: u32) -> (&'static str, String) {
    match backend {
        Backend::Sqlite => ("driver_sendings", format!("(unixepoch() - {seconds}) * 1000")),
        Backend::Postgres => ("logistics.driver_sendings", format!("now() - interval '{seconds} seconds'")),
    }
}

/// Stores this many sendings of an organisation, five minutes ago.
fn insert_sendings(app: &App, backend: Backend, organisation: &str, count: u32) {
    let (table, ago) = driver_sendings(backend, 300);
    app.database.execute(&format!(
        "INSERT INTO {table} (organisation_id, n, at) WITH RECURSIVE sent(n) AS (SELECT 1 UNION ALL \
         SELECT n + 1 FROM sent WHERE n < {count}) SELECT '{organisation}', n, {ago} FROM sent"
    ));
}

testkit::on_both! {
    async fn drivers_read_and_prove_loads_sent_to_them(backend) {
        let app = app(backend).await;
        let (id, other) = (create_load(&app).await, create_load(&app).await);
        let driver = User::individual("dai");
        let path = format!("/v1/loads/{id}");
        assert_eq!(app.get(&path).by(&driver).send().await.error(403), "forbidden", "not sent yet");
        let sent = json!({"loadId": id, "driverId": "dai"});
        for _ in 0..2 {
            app.post("/v1/loads/send-to-driver").by(&User::of("haul")).json(&sent).send().await.ok();
        }
        let load = app.get(&path).by(&driver).send().await.ok();
        assert_eq!(load["id"], id.as_str());
        let reply = app.get(&format!("/v1/loads/by-ids?ids={other},{id}")).by(&driver).send().await;
        assert_eq!(reply.header("x-missing-ids"), other);
        assert_eq!(reply.ok(), json!([load]));
        assert_eq!(app.get("/v1/loads").by(&driver).send().await.ok(), json!([]), "searches do not list it");
        assert_eq!(app.get("/v1/loads?count=true").by(&driver).send().await.header("x-total-count"), "0");
        let notifications = app.get(&format!("{path}/notifications")).by(&driver).send().await;
        assert_eq!(notifications.error(403), "forbidden");
        let again = app.post("/v1/loads/send-to-driver").by(&driver).json(&sent).send().await;
        assert_eq!(again.error(403), "forbidden", "drivers cannot send loads");
        assert_eq!(app.get(&path).by(&User::individual("another")).send().await.error(403), "forbidden");

        let proof = json!({"weightNet": 28.6, "ticketNumber": "T-1", "vehicleRegistration": "VX21ABC", "files": null});
        let forbidden = app.post(&format!("{path}/proof-of-delivery")).by(&User::individual("another")).json(&proof);
        assert_eq!(forbidden.send().await.error(403), "forbidden");
        let proven = app.post(&format!("{path}/proof-of-delivery")).by(&driver).json(&proof).send().await.ok();
        assert_eq!(proven["status"], "completed");
        let elsewhere = app.post(&format!("/v1/loads/{other}/proof-of-delivery")).by(&driver).json(&proof);
        assert_eq!(elsewhere.send().await.error(403), "forbidden");
        assert_eq!(app.get(&path).by(&User::admin()).send().await.ok(), proven);
    }

    async fn drivers_are_listed_and_revoked(backend) {
        let app = app(backend).await;
        let (id, haul) = (create_load(&app).await, User::of("haul"));
        let path = format!("/v1/loads/{id}");
        let send = async |driver: &str| {
            let sent = json!({"loadId": id, "driverId": driver});
            app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send().await.ok();
        };
        let drivers = async || app.get(&format!("{path}/drivers")).by(&haul).send().await.ok();
        assert_eq!(drivers().await, json!([]));
        for driver in ["dai", "auth0|7/x", "eve"] {
            send(driver).await;
        }
        let listed = drivers().await;
        let ids: Vec<_> = listed.as_array().unwrap().iter().map(|driver| driver["driverId"].as_str().unwrap()).collect();
        assert_eq!(ids, ["dai", "auth0|7/x", "eve"]);
        assert!(listed[0]["sentAtUTC"].as_str().unwrap().ends_with('Z'));

        let revoke = async |driver: &str| app.call("DELETE", &format!("{path}/drivers/{driver}")).by(&haul).send().await;
        assert_eq!(revoke("nobody").await.error(404), "not_found");
        assert_eq!(revoke("auth0%7C7%2Fx").await.ok()["status"], "success");
        let dai = User::individual("dai");
        assert_eq!(app.get(&path).by(&dai).send().await.status, 200);
        revoke("dai").await.ok();
        assert_eq!(revoke("dai").await.error(404), "not_found");
        assert_eq!(app.get(&path).by(&dai).send().await.error(403), "forbidden");
        assert_eq!(super::prove(&app, &dai, &id, &proof_form()).await.error(403), "forbidden");
        assert_eq!(app.get(&format!("/v1/loads/by-ids?ids={id}")).by(&dai).send().await.ok(), json!([]));
        assert_eq!(drivers().await.as_array().unwrap().len(), 1);
        send("dai").await;
        assert_eq!(app.get(&path).by(&dai).send().await.status, 200, "sent again");
        // The id in the path takes the form in which ids are stored. Earlier releases stored others.
        send(" Ren\u{e9} ").await;
        let history = async || events(&app, &id).await.pop().unwrap()["changes"].clone();
        assert_eq!(revoke("%20Rene%CC%81%20").await.status, 200);
        assert_eq!(history().await, json!({"driverId": {"from": "Ren\u{e9}"}}));
        app.database.execute("INSERT INTO load_drivers (load_id, driver_id) SELECT id, ' old ' FROM loads");
        assert_eq!(revoke("%20old%20").await.status, 200);
        assert_eq!(history().await, json!({"driverId": {"from": " old "}}));
        assert_eq!(revoke("%20old%20").await.error(404), "not_found");
        let unknown = "/v1/loads/0190f5fe-0000-7000-8000-000000000000/drivers/dai";
        assert_eq!(app.call("DELETE", unknown).by(&haul).send().await.error(404), "not_found");
    }

    async fn a_carrier_does_not_revoke_whom_the_organiser_sent_before(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let load = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        let id = load["id"].as_str().unwrap();
        let send = async |user: &User, to: &str, recipient: &str| {
            let key = format!("{to}Id");
            let form = json!({"loadId": id, key: recipient});
            app.post(&format!("/v1/loads/send-to-{to}")).by(user).json(&form).send().await.ok();
        };
        send(&grain, "driver", "dai").await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        send(&grain, "carrier", "haul").await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        send(&haul, "driver", "dai").await;
        let revoke = async |user: &User, tag: &str| {
            app.call("DELETE", &format!("/v1/loads/{id}/drivers/dai")).by(user).header("if-match", tag).send().await
        };
        assert_eq!(revoke(&haul, "\"999\"").await.error(403), "forbidden", "before 412");
        assert_eq!(revoke(&grain, "\"999\"").await.status, 412);
        revoke(&grain, "*").await.ok();
    }

    async fn searches_find_loads_by_driver(backend) {
        let app = app(backend).await;
        let (grain, haul, admin, dai) = (User::of("grain"), User::of("haul"), User::admin(), User::individual("dai"));
        let (sent, other) = (create_load(&app).await, create_load(&app).await);
        let foreign = app.post("/v1/loads/organiser").by(&User::of("mill"))
            .json(&with(organiser_form(), "organiserId", json!("mill"))).send().await.ok();
        for (id, driver, user) in [
            (sent.as_str(), "dai", &haul), (other.as_str(), "eve", &haul), (foreign["id"].as_str().unwrap(), "dai", &User::of("mill")),
        ] {
            let form = json!({"loadId": id, "driverId": driver});
            app.post("/v1/loads/send-to-driver").by(user).json(&form).send().await.ok();
        }
        let count = async |user: &User, query: &str| {
            let reply = app.get(&format!("/v1/loads?count=true&{query}")).by(user).send().await;
            let total: usize = reply.header("x-total-count").parse().unwrap();
            let found = reply.ok().as_array().unwrap().len();
            let csv = app.get(&format!("/v1/loads?format=CSV&{query}")).by(user).send().await.text();
            assert_eq!((total, csv.lines().count() - 1), (found, found), "{query}");
            found
        };
        let mut employed = User::of("other");
        employed.claims["sub"] = json!("dai");
        for user in [&dai, &employed] {
            for (query, expected) in [
                ("f:driverId=me", 2), ("f:driverId=me&sortBy=deliveryDateISO", 2), ("f:driverId=me&query=hh-1", 1),
                ("f:driverId=me&f:organiserId=grain", 1), ("f:driverId=me&f:status=completed", 0),
                ("f:driverId=me&startDateISO=2026-03-01", 2), ("f:driverId=dai", 0), ("", 0),
            ] {
                assert_eq!(count(user, query).await, expected, "{query}");
            }
        }
        for (user, dais, eves) in [(&grain, 1, 1), (&haul, 1, 1), (&admin, 2, 1), (&User::of("third"), 0, 0)] {
            assert_eq!(count(user, "f:driverId=dai").await, dais);
            assert_eq!(count(user, "f:driverId=eve&sortBy=reference").await, eves);
            assert_eq!(count(user, "f:driverId=me").await, 0);
        }
        for n in 0..2 {
            let page = app.get(&format!("/v1/loads?f:driverId=me&limit=1&offset={n}")).by(&dai).send().await;
            assert_eq!(page.header("link").contains("rel=\"next\""), n == 0);
        }
    }

    async fn searches_show_the_drivers_that_the_caller_can_list(backend) {
        let app = app(backend).await;
        let (grain, haul, fast, dai) = (User::of("grain"), User::of("haul"), User::of("fast"), User::individual("dai"));
        let (id, other) = (create_load(&app).await, create_load(&app).await);
        let send = async |user: &User, driver: &str| {
            let form = json!({"loadId": id, "driverId": driver});
            app.post("/v1/loads/send-to-driver").by(user).json(&form).send().await.ok();
        };
        let drivers = async |user: &User, query: &str| {
            let found = app.get(&format!("/v1/loads?sortBy=createdAt&{query}")).by(user).send().await.ok();
            found.as_array().unwrap().iter().map(|load| load["driverIds"].clone()).collect::<Vec<_>>()
        };
        let query = "include=driverIds";
        send(&haul, "eve").await;
        send(&haul, "dai").await;
        for user in [&grain, &haul, &User::admin()] {
            assert_eq!(drivers(user, query).await, [json!(["dai", "eve"]), json!([])]);
        }
        assert_eq!(drivers(&haul, &format!("{query}&f:id={other}")).await, [json!([])]);
        assert_eq!(drivers(&haul, &format!("{query}&limit=1")).await, [json!(["dai", "eve"])]);
        assert_eq!(drivers(&haul, "include=newestNote,driverIds").await[0], json!(["dai", "eve"]));
        assert_eq!(drivers(&haul, "include=newestNote").await, [Value::Null, Value::Null]);
        assert_eq!(drivers(&dai, &format!("{query}&f:driverId=me")).await, [Value::Null], "not who else drives it");

        // The next carrier does not learn to whom the load was sent before.
        send(&grain, "organisers").await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        patch(&app, &grain, &id, &json!({"carrierId": "fast"})).await.ok();
        assert_eq!(drivers(&fast, query).await, [json!([])]);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        send(&fast, "new").await;
        assert_eq!(drivers(&fast, query).await, [json!(["new"])]);
        assert_eq!(drivers(&grain, query).await, [json!(["new", "organisers"]), json!([])]);
        assert_eq!(drivers(&haul, query).await, [json!([])], "of the load that it still carries");
    }

    async fn a_load_has_at_most_20_drivers_on_pages(backend) {
        let app = app(backend).await;
        let (id, haul) = (create_load(&app).await, User::of("haul"));
        let path = format!("/v1/loads/{id}/drivers");
        let send = async |n: usize| {
            let sent = json!({"loadId": id, "driverId": format!("driver-{n:02}")});
            app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send().await
        };
        for n in 0..20 {
            send(n).await.ok();
        }
        let refused = send(20).await;
        assert_eq!(refused.status, 409);
        assert_eq!(refused.json()["body"]["reason"], "limit_reached");
        send(3).await.ok();
        let page = app.get(&format!("{path}?limit=7&offset=14&count=true")).by(&haul).send().await;
        assert_eq!((page.header("x-total-count"), page.header("link").contains("rel=\"next\"")), ("20", false));
        assert_eq!(page.ok().as_array().unwrap().len(), 6);
        let page = app.get(&format!("{path}?limit=7")).by(&haul).send().await;
        assert!(page.header("link").contains("offset=7>; rel=\"next\""), "{}", page.header("link"));
        assert_eq!(page.ok()[0]["driverId"], "driver-00");
        assert_eq!(app.get(&path).by(&haul).send().await.ok().as_array().unwrap().len(), 20);
        app.call("DELETE", &format!("{path}/driver-00")).by(&haul).send().await.ok();
        send(20).await.ok();
    }

    async fn concurrent_sendings_keep_the_limit_of_drivers(backend) {
        let app = app(backend).await;
        let (id, haul) = (create_load(&app).await, User::of("haul"));
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..23 {
            let sent = json!({"loadId": id, "driverId": format!("driver-{n}")});
            tasks.spawn(app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send());
        }
        let statuses: Vec<_> = tasks.join_all().await.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 20, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 3, "{statuses:?}");
    }

    async fn an_organisation_sends_600_notifications_to_drivers_in_ten_minutes(backend) {
        let app = app_with_pending_notifications(backend).await;
        let (id, haul) = (create_load(&app).await, User::of("haul"));
        insert_sendings(&app, backend, "haul", 599);
        let send = async |user: &User, driver: &str| {
            let sent = json!({"loadId": id, "driverId": driver});
            app.post("/v1/loads/send-to-driver").by(user).json(&sent).send().await
        };
        send(&haul, "dai").await.ok();
        let limited = send(&haul, "eve").await;
        let wait: u64 = limited.header("retry-after").parse().unwrap();
        assert!((200..=301).contains(&wait), "{wait}");
        assert_eq!(limited.error(429), "rate_limited");
        send(&haul, "dai").await.ok();
        send(&User::of("grain"), "eve").await.ok();
        // The pending notification of the other organisation absorbs this one.
        send(&haul, "eve").await.ok();
        let listed = app.get(&format!("/v1/loads/{id}/drivers")).by(&haul).send().await.ok();
        assert_eq!(listed.as_array().unwrap().len(), 2);
    }

    async fn repeated_sendings_to_a_carrier_are_counted(backend) {
        let receiver = testkit::WebhookReceiver::start(wiremock::ResponseTemplate::new(200)).await;
        let settings = Settings {
            webhook_url: Some(receiver.url().parse().unwrap()),
            webhook_secrets: vec![secret(1).into()],
            webhook_allow_private: true,
            ..Settings::default()
        };
        let app = App::start::<Logistics>(backend, settings).await;
        let (id, grain) = (create_load(&app).await, User::of("grain"));
        let send = async || {
            let sent = json!({"loadId": id, "carrierId": "haul"});
            app.post("/v1/loads/send-to-carrier").by(&grain).json(&sent).send().await
        };
        let log = async || {
            let log = app.get(&format!("/v1/loads/{id}/notifications")).by(&grain).send().await.ok();
            log.as_array().unwrap().clone()
        };
        let all_are_delivered = async || log().await.iter().all(|entry| entry["status"] == "delivered");
        insert_sendings(&app, backend, "grain", 599);
        // The first sending is not counted.
        for _ in 0..2 {
            send().await.ok();
            testkit::wait_until(&all_are_delivered).await;
        }
        assert_eq!(send().await.error(429), "rate_limited");
        assert_eq!(log().await.len(), 2);
    }

    async fn absorbed_sendings_are_not_counted(backend) {
        let app = app_with_pending_notifications(backend).await;
        let (id, haul) = (create_load(&app).await, User::of("haul"));
        insert_sendings(&app, backend, "haul", 598);
        for (user, driver) in [(&User::of("grain"), "dai"), (&haul, "dai"), (&haul, "dai"), (&haul, "eve"), (&haul, "fay")] {
            let sent = json!({"loadId": id, "driverId": driver});
            app.post("/v1/loads/send-to-driver").by(user).json(&sent).send().await.ok();
        }
        let sent = json!({"loadId": id, "driverId": "gus"});
        assert_eq!(app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send().await.error(429), "rate_limited");
        // Those of the last 600 that are older than ten minutes count no more, and rows of others are deleted.
        let (table, ago) = driver_sendings(backend, 601);
        app.database.execute(&format!("UPDATE {table} SET at = {ago} WHERE n = 1"));
        app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send().await.ok();
        assert_eq!(app.database.count(&format!("(SELECT n FROM {table} WHERE organisation_id = 'haul') AS sent")), 600);
    }

    async fn concurrent_sendings_succeed_up_to_the_limit_of_an_organisation(backend) {
        let database = TestDatabase::new::<Logistics>(backend).await;
        let mut config = testkit::config::<Logistics>(&database, Settings::default());
        config.database.pool_size = 20;
        let app = App::start_with::<Logistics>(database, config).await;
        let haul = User::of("haul");
        insert_sendings(&app, backend, "haul", 573);
        let send_together = async |count: usize| {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..count {
                let sent = json!({"loadId": create_load(&app).await, "driverId": "dai"});
                tasks.spawn(app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send());
            }
            let mut statuses: Vec<_> = tasks.join_all().await.iter().map(|reply| reply.status).collect();
            statuses.sort_unstable();
            statuses
        };
        assert_eq!(send_together(20).await, [200; 20]);
        assert_eq!(send_together(12).await, [[200; 7].as_slice(), &[429; 5]].concat());
    }
}
