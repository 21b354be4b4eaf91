//! What a carrier loses when a load gets another one, and what the new one reads.

use testkit::{WebhookReceiver, named_files};

use super::*;

async fn send(app: &App, user: &User, id: &str, driver: &str) -> TestResponse {
    let form = json!({"loadId": id, "driverId": driver});
    app.post("/v1/loads/send-to-driver").by(user).json(&form).send().await
}

async fn types(app: &App, user: &User, id: &str) -> Vec<String> {
    let events = app.get(&format!("/v1/loads/{id}/events?limit=100&count=true")).by(user).send().await;
    let total = events.header("x-total-count").to_owned();
    let events = events.ok();
    let types: Vec<_> =
        events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(total, types.len().to_string());
    types
}

async fn ids(app: &App, user: &User, path: &str, member: &str) -> Vec<String> {
    let listed = app.get(path).by(user).send().await.ok();
    listed.as_array().unwrap().iter().map(|entry| entry[member].as_str().unwrap().to_owned()).collect()
}

testkit::on_both! {
    async fn its_drivers_lose_the_load(backend) {
        let app = app(backend).await;
        let (grain, haul, fast) = (User::of("grain"), User::of("haul"), User::of("fast"));
        let id = create_load(&app).await;
        let path = format!("/v1/loads/{id}");
        for (user, driver) in [(&haul, "own"), (&haul, "both"), (&grain, "both"), (&grain, "organisers"), (&haul, "gone")] {
            send(&app, user, &id, driver).await.ok();
        }
        app.call("DELETE", &format!("{path}/drivers/gone")).by(&haul).send().await.ok();
        let before = revision(&app, &id).await;
        patch(&app, &grain, &id, &json!({"carrierId": "fast"})).await.ok();
        assert_eq!(revision(&app, &id).await, before + 1);

        let own = User::individual("own");
        assert_eq!(app.get(&path).by(&own).send().await.error(403), "forbidden");
        assert_eq!(prove(&app, &own, &id, &proof_form()).await.error(403), "forbidden");
        for driver in ["both", "organisers"] {
            app.get(&path).by(&User::individual(driver)).send().await.ok();
        }
        assert_eq!(ids(&app, &grain, &format!("{path}/drivers"), "driverId").await, ["both", "organisers"]);
        let history = events(&app, &id).await;
        let [.., revoked, updated] = &history[..] else { panic!("{history:?}") };
        assert_eq!((&revoked["type"], &revoked["changes"]), (&json!("driver_revoked"), &json!({"driverId": {"from": "own"}})));
        assert_eq!((&updated["type"], &updated["changes"]["carrierId"]["from"]), (&json!("updated"), &json!("haul")));
        for path in [format!("{path}/events"), format!("{path}/drivers"), format!("{path}/notifications")] {
            assert_eq!(app.get(&path).by(&haul).send().await.error(403), "forbidden");
        }
        assert_eq!(prove(&app, &haul, &id, &proof_form()).await.error(403), "forbidden");

        // The new carrier reads the creation and what happened since, without its predecessor.
        assert_eq!(types(&app, &fast, &id).await, ["created", "updated"]);
        let read = app.get(&format!("{path}/events")).by(&fast).send().await.ok();
        assert_eq!(read[1]["changes"]["carrierId"], json!({"to": "fast"}));
        assert_eq!(read[1]["changes"]["carrierName"], json!({"to": "fast"}));
        assert!(!read[1].to_string().contains("haul"), "{read}");
        let listed = format!("{path}/notifications");
        for list in [&*listed, "/v1/notifications", "/v1/notifications?count=true"] {
            assert_eq!(ids(&app, &fast, list, "recipientId").await, [""; 0], "{list}");
        }
        assert_eq!(ids(&app, &fast, &format!("{path}/drivers"), "driverId").await, [""; 0]);
        let hidden = app.call("DELETE", &format!("{path}/drivers/organisers")).by(&fast).send().await;
        assert_eq!(hidden.error(404), "not_found");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        send(&app, &fast, &id, "new").await.ok();
        assert_eq!(types(&app, &fast, &id).await, ["created", "updated", "sent_to_driver"]);
        assert_eq!(ids(&app, &fast, &listed, "recipientId").await, ["new"]);
        assert_eq!(ids(&app, &fast, "/v1/notifications", "recipientId").await, ["new"]);
        assert_eq!(ids(&app, &fast, &format!("{path}/drivers"), "driverId").await, ["new"]);
        let page = app.get(&format!("{path}/events?limit=1&offset=1")).by(&fast).send().await.ok();
        assert_eq!(page[0]["type"], "updated");
        assert!(types(&app, &grain, &id).await.len() > 6, "the organiser reads everything");
    }

    async fn a_removed_carrier_loses_the_load_and_an_organiser_keeps_it(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let id = create_load(&app).await;
        send(&app, &haul, &id, "dai").await.ok();
        patch(&app, &grain, &id, &json!({"carrierId": null})).await.ok();
        let dai = User::individual("dai");
        assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&dai).send().await.error(403), "forbidden");
        // An organisation that carries its own load stays its organiser.
        patch(&app, &grain, &id, &json!({"carrierId": "grain"})).await.ok();
        send(&app, &grain, &id, "dai").await.ok();
        patch(&app, &grain, &id, &json!({"carrierId": "haul"})).await.ok();
        app.get(&format!("/v1/loads/{id}")).by(&dai).send().await.ok();
        // A change of the name is no change of the carrier.
        send(&app, &haul, &id, "eve").await.ok();
        patch(&app, &grain, &id, &json!({"carrierId": "haul", "carrierName": "Other"})).await.ok();
        app.get(&format!("/v1/loads/{id}")).by(&User::individual("eve")).send().await.ok();
    }

    async fn a_notification_that_waits_is_not_sent_to_it_any_more(backend) {
        let settings = Settings {
            webhook_allow_private: true,
            webhook_url: Some("http://127.0.0.1:9/".parse().unwrap()),
            webhook_secrets: vec![secret(1).into()],
            webhook_retry_seconds: 3600,
            ..Settings::default()
        };
        let app = App::start::<Logistics>(backend, settings).await;
        let grain = User::of("grain");
        let load = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        let id = load["id"].as_str().unwrap();
        let send = json!({"loadId": id, "carrierId": "haul", "carrierName": "Haulage"});
        app.post("/v1/loads/send-to-carrier").by(&grain).json(&send).send().await.ok();
        let listed = format!("/v1/loads/{id}/notifications");
        assert_eq!(ids(&app, &grain, &listed, "recipientId").await, ["haul"]);
        patch(&app, &grain, id, &json!({"carrierId": "fast"})).await.ok();
        assert_eq!(ids(&app, &grain, &listed, "recipientId").await, [""; 0]);
    }

    async fn its_webhooks_are_told_the_id_and_the_reference(backend) {
        let settings = Settings { webhook_allow_private: true, ..Settings::default() };
        let app = App::start::<Logistics>(backend, settings).await;
        let (grain, haul, fast) = (User::of("grain"), User::of("haul"), User::of("fast"));
        let id = create_load(&app).await;
        send(&app, &haul, &id, "dai").await.ok();
        let mut receivers = Vec::new();
        for user in [&grain, &haul, &fast] {
            let receiver = WebhookReceiver::start(respond_with(200)).await;
            let events = ["load.updated", "load.released", "load.driver_revoked"];
            let form = json!({"url": receiver.url(), "events": events});
            app.post("/v1/webhooks").by(user).json(&form).send().await.ok();
            receivers.push(receiver);
        }
        patch(&app, &grain, &id, &json!({"carrierId": "fast", "tags": ["secret"]})).await.ok();
        let mut told = Vec::new();
        for (receiver, count) in receivers.iter().zip([2, 2, 1]) {
            let mut data: Vec<(String, Value)> = Vec::new();
            for request in receiver.wait_for(count).await {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                data.push((body["type"].as_str().unwrap().to_owned(), body["data"].clone()));
            }
            data.sort_by(|a, b| a.0.cmp(&b.0));
            told.push(data);
        }
        let part = json!({"id": id, "reference": "HH-1"});
        let expected = [
            ("load.driver_revoked".to_owned(), json!({
                "userId": grain.claims["sub"], "organisationId": "grain", "changes": {"driverId": {"from": "dai"}},
                "driverId": "dai", "load": part,
            })),
            ("load.released".to_owned(), json!({"load": part})),
        ];
        assert_eq!(told[1], expected);
        let names = |index: usize| told[index].iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(0), ["load.driver_revoked", "load.updated"]);
        assert_eq!(told[0][0].1["driverId"], "dai");
        assert_eq!(told[0][0].1["load"], told[0][1].1["load"], "the load after the change");
        assert_eq!(names(2), ["load.updated"]);
    }

    async fn its_files_are_no_longer_shared_with_it(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let names = ["lost.jpg", "held.jpg", "kept.jpg", "removed.jpg"];
        let [lost, held, kept, removed] = names.map(|name| system.add(name, &grain));
        let create = async |files: &[&String]| {
            let form = with(organiser_form(), "files", named_files(files));
            let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
            let id = load["id"].as_str().unwrap().to_owned();
            patch(&app, &grain, &id, &json!({"carrierId": "haul"})).await.ok();
            id
        };
        let id = create(&[&lost, &held, &kept, &removed]).await;
        let other = create(&[&held]).await;
        patch(&app, &grain, &id, &json!({"files": named_files(&[&lost, &held, &kept])})).await.ok();
        // The carrier adds files of the load to other loads of its own, to keep them.
        let form = with(carrier_form(), "files", named_files(&[&kept, &removed]));
        app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
        patch(&app, &haul, &other, &json!({"files": named_files(&[&held, &lost])})).await.ok();

        let unshared = async |call: testkit::TestRequest| {
            let before = system.calls().await.len();
            call.send().await.ok();
            let calls = system.calls().await.split_off(before);
            let mut unshared = calls.into_iter().filter(|call| call.get("unshareWith").is_some()).collect::<Vec<_>>();
            assert!(unshared.len() < 2, "{unshared:?}");
            unshared.pop()
        };
        let path = format!("/v1/loads/{id}");
        let call = unshared(app.call("PATCH", &path).by(&grain).json(&json!({"carrierId": "fast"}))).await.unwrap();
        let mut ids: Vec<_> = call["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        ids.sort();
        let mut expected = vec![lost, kept, removed];
        expected.sort();
        assert_eq!((ids, &call["unshareWith"]), (expected, &json!(["haul"])));
        let edit = app.call("PATCH", &path).by(&grain).json(&json!({"reference": "edited"}));
        assert_eq!(unshared(edit).await, None, "another edit ends no sharing");
        assert_eq!(app.database.count("due_shares"), 0);
    }

    async fn a_carrier_that_gives_the_load_away_loses_the_files_of_others(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let load = app.post("/v1/loads/carrier").by(&haul).json(&carrier_form()).send().await.ok();
        let id = load["id"].as_str().unwrap();
        let file = system.add("terms.pdf", &grain);
        patch(&app, &grain, id, &json!({"files": [{"id": file}]})).await.ok();
        let before = system.calls().await.len();
        patch(&app, &haul, id, &json!({"carrierId": "fast"})).await.ok();
        let calls = system.calls().await.split_off(before);
        let left: Vec<_> = calls.iter().filter(|call| call.get("leave").is_some()).collect();
        assert_eq!(left, [&json!({"ids": [file], "unshareWith": ["haul"], "leave": true})], "{calls:?}");
    }

    async fn it_keeps_a_file_that_it_holds_through_one_of_the_first_1000_loads(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        for (others, keeps) in [(998, true), (999, false)] {
            let [terms, ticket] = ["terms.pdf", "ticket.jpg"].map(|name| system.add(name, &grain));
            let mut loads = Vec::new();
            for files in [&[&terms, &ticket][..], &[&terms]] {
                let form = with(organiser_form(), "files", named_files(files));
                let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
                let id = load["id"].as_str().unwrap().to_owned();
                patch(&app, &grain, &id, &json!({"carrierId": "haul"})).await.ok();
                loads.push(id);
            }
            // The file was on many loads before, and the carrier attaches it to loads of its own.
            let file = terms.replace('-', "");
            app.database.execute(&if backend == Backend::Sqlite {
                format!(
                    "WITH RECURSIVE loads (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM loads WHERE n < {others}) \
                     INSERT INTO file_uploaders SELECT 'user', unhex(printf('%032x', n)), unhex('{file}') FROM loads"
                )
            } else {
                format!(
                    "INSERT INTO logistics.file_uploaders SELECT 'user', lpad(to_hex(n), 32, '0')::uuid, '{file}' \
                     FROM generate_series(1, {others}) AS n"
                )
            });
            let form = with(carrier_form(), "files", json!([{"id": ticket}]));
            app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
            let before = system.calls().await.len();
            patch(&app, &grain, &loads[0], &json!({"carrierId": "fast"})).await.ok();
            let calls = system.calls().await.split_off(before);
            let unshared: Vec<_> = calls.iter().filter(|call| call.get("unshareWith").is_some()).collect();
            assert_eq!(unshared.len(), 1, "{calls:?}");
            let expected = if keeps { json!([ticket]) } else { json!([terms, ticket]) };
            assert_eq!(unshared[0]["ids"], expected, "{others} other loads");
        }
    }

    /// The attack: a carrier prepares for its replacement, and then tries everything.
    async fn it_can_do_nothing_with_the_load(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        // A load of the organiser: the carrier did not create it.
        let load = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        let id = load["id"].as_str().unwrap();
        patch(&app, &grain, id, &json!({"carrierId": "haul"})).await.ok();
        let own = User::individual("own");
        let colleague = User::of("haul").with("sub", "colleague");
        for driver in ["own", "colleague"] {
            send(&app, &haul, id, driver).await.ok();
        }
        let read = app.get(&format!("/v1/loads/{id}")).by(&haul).send().await;
        let etag = read.header("etag").to_owned();
        patch(&app, &grain, id, &json!({"carrierId": "fast"})).await.ok();

        let path = format!("/v1/loads/{id}");
        let correction = json!({"weightNet": 28, "reason": "misread"});
        for user in [&haul, &own, &colleague] {
            for (method, path, body) in [
                ("GET", path.clone(), Value::Null),
                ("GET", format!("{path}/events"), Value::Null),
                ("GET", format!("{path}/drivers"), Value::Null),
                ("GET", format!("{path}/notifications"), Value::Null),
                ("PATCH", path.clone(), json!({"ticketNumber": "T"})),
                ("PATCH", path.clone(), json!({"carrierId": "haul"})),
                ("POST", format!("{path}/cancel"), json!({})),
                ("POST", format!("{path}/accept"), json!({})),
                ("POST", format!("{path}/proof-of-delivery"), proof_form()),
                ("POST", "/v1/loads/proof-of-delivery".into(), with(proof_form(), "loadId", json!(id))),
                ("POST", format!("{path}/proof-of-delivery/corrections"), correction.clone()),
                ("POST", "/v1/loads/send-to-driver".into(), json!({"loadId": id, "driverId": "own"})),
                ("POST", "/v1/loads/send-to-carrier".into(), json!({"loadId": id, "carrierId": "haul"})),
                ("DELETE", format!("{path}/drivers/own"), Value::Null),
            ] {
                let call = app.call(method, &path).by(user).header("if-match", "*");
                let call = if body.is_null() { call } else { call.json(&body) };
                let reply = call.send().await;
                assert_eq!(reply.error(403), "forbidden", "{method} {path} {body}");
            }
            let cached = app.get(&path).by(user).header("if-none-match", &etag).send().await;
            assert_eq!(cached.status, 403, "no answer by a known revision");
            let searches = ["/v1/loads", "/v1/loads?f:driverId=me", "/v1/loads?format=CSV", "/v1/notifications"];
            for search in searches.map(str::to_owned).into_iter().chain([format!("/v1/loads/by-ids?ids={id}")]) {
                let found = app.get(&search).by(user).send().await.text();
                assert!(!found.contains(id) && !found.contains("BG-1"), "{search}: {found}");
            }
        }
        let read = app.get(&path).by(&grain).send().await.ok();
        assert_eq!((&read["status"], &read["carrier"]["id"]), (&json!("upcoming"), &json!("fast")));
    }

    async fn it_does_not_keep_drivers_by_sending_at_the_same_time(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        for _ in 0..5 {
            let id = create_load(&app).await;
            let mut tasks = tokio::task::JoinSet::new();
            for n in 0..8 {
                let sent = json!({"loadId": id, "driverId": format!("driver-{n}")});
                tasks.spawn(app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send());
                if n == 3 {
                    let change = json!({"carrierId": "fast"});
                    tasks.spawn(app.call("PATCH", &format!("/v1/loads/{id}")).by(&grain).json(&change).send());
                }
            }
            let replies = tasks.join_all().await;
            assert!(replies.iter().all(|reply| [200, 403].contains(&reply.status)));
            let path = format!("/v1/loads/{id}/drivers");
            assert_eq!(ids(&app, &grain, &path, "driverId").await, [""; 0]);
        }
    }

    async fn the_next_carrier_reads_nothing_of_it(backend) {
        let system = SystemStub::start().await;
        let settings =
            Settings { system_url: system.url(), webhook_allow_private: true, ..Settings::default() };
        let app = App::start::<Logistics>(backend, settings).await;
        let (grain, fast) = (User::of("grain"), User::of("fast"));
        let marked = User::of("zorro").with("sub", "zorro-user").with("name", "Zorro User").with("orgName", "Zorro Haulage");
        let receiver = WebhookReceiver::start(respond_with(200)).await;
        let form = json!({"url": receiver.url(), "events": ["load.updated", "load.driver_revoked"]});
        app.post("/v1/webhooks").by(&fast).json(&form).send().await.ok();
        let terms = system.add("terms.pdf", &grain);
        let [ticket, removed] = ["ticket.jpg", "zorro.jpg"].map(|name| system.add_with_name(name, &marked, "Zorro User"));
        let form = with(organiser_form(), "files", json!([{"id": terms}]));
        let id = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok()["id"].as_str().unwrap().to_owned();
        patch(&app, &grain, &id, &json!({"carrierId": "zorro", "carrierName": "Zorro Haulage"})).await.ok();
        let files = named_files(&[&terms, &ticket, &removed]);
        let own = json!({"files": files, "vehicleRegistration": "ZORRO 1", "ticketNumber": "zorro-1"});
        patch(&app, &marked, &id, &own).await.ok();
        for (user, driver) in [(&marked, "zorro-driver"), (&grain, "zorro-hidden")] {
            send(&app, user, &id, driver).await.ok();
        }
        let change = json!({
            "carrierId": "fast", "files": [{"id": terms}, {"id": ticket}], "vehicleRegistration": "VX21 ABC", "ticketNumber": null,
        });
        patch(&app, &grain, &id, &change).await.ok();

        let path = format!("/v1/loads/{id}");
        let read = app.get(&path).by(&fast).send().await.ok();
        let names: Vec<_> = read["files"].as_array().unwrap().iter().map(|file| file["userName"].as_str().unwrap()).collect();
        assert_eq!(names, ["Ruth", ""]);
        for path in [
            path.clone(), format!("{path}/events"), format!("{path}/drivers"), format!("{path}/notifications"),
            format!("/v1/loads/by-ids?ids={id}"), "/v1/loads".into(), "/v1/loads?format=CSV".into(),
            "/v1/notifications".into(),
        ] {
            let read = app.get(&path).by(&fast).send().await;
            assert_eq!(read.status, 200, "{path}");
            assert!(!read.text().to_lowercase().contains("zorro"), "{path}: {}", read.text());
        }
        for request in receiver.wait_for(1).await {
            let body = String::from_utf8(request.body).unwrap();
            assert!(!body.to_lowercase().contains("zorro"), "{body}");
        }
        let found = async |user: &User, driver: &str| {
            let found = app.get(&format!("/v1/loads?count=true&f:driverId={driver}")).by(user).send().await;
            let total = found.header("x-total-count").to_owned();
            (total, found.ok().as_array().unwrap().len())
        };
        assert_eq!(found(&fast, "zorro-hidden").await, ("0".into(), 0));
        assert_eq!(found(&grain, "zorro-hidden").await, ("1".into(), 1));
        assert_eq!(found(&User::admin(), "zorro-hidden").await, ("1".into(), 1));

        // The driver of the organiser stays, also once the carrier has sent the load to it.
        let hidden = format!("{path}/drivers/zorro-hidden");
        assert_eq!(app.call("DELETE", &hidden).by(&fast).send().await.error(404), "not_found");
        send(&app, &fast, &id, "zorro-hidden").await.ok();
        send(&app, &fast, &id, "own").await.ok();
        assert_eq!(app.call("DELETE", &hidden).by(&fast).send().await.error(403), "forbidden");
        app.get(&path).by(&User::individual("zorro-hidden")).send().await.ok();
        assert_eq!(found(&fast, "own").await, ("1".into(), 1));
        app.call("DELETE", &format!("{path}/drivers/own")).by(&fast).send().await.ok();
        app.call("DELETE", &hidden).by(&grain).send().await.ok();
        send(&app, &fast, &id, "zorro-hidden").await.ok();
        app.call("DELETE", &hidden).by(&fast).send().await.ok();
    }

    async fn the_user_of_a_carrier_that_created_the_load_is_not_named_to_the_next_one(backend) {
        let app = app(backend).await;
        let creator = User::of("haul").with("sub", "zorro-user").with("name", "Zorro");
        let load = app.post("/v1/loads/carrier").by(&creator).json(&carrier_form()).send().await.ok();
        let path = format!("/v1/loads/{}/events", load["id"].as_str().unwrap());
        patch(&app, &User::of("grain"), load["id"].as_str().unwrap(), &json!({"carrierId": "fast"})).await.ok();
        let read = app.get(&path).by(&User::of("fast")).send().await.ok();
        assert_eq!((&read[0]["type"], read[0].get("userId"), read[0].get("userName")), (&json!("created"), None, None));
        let read = app.get(&path).by(&User::of("grain")).send().await.ok();
        assert_eq!((&read[0]["userId"], &read[0]["userName"]), (&json!("zorro-user"), &json!("Zorro")));
    }

    async fn a_carrier_that_gives_the_load_away_is_not_named_to_the_next_one(backend) {
        let app = app(backend).await;
        let (haul, fast) = (User::of("haul"), User::of("fast"));
        let id = create_load(&app).await;
        patch(&app, &haul, &id, &json!({"carrierId": "fast"})).await.ok();
        let path = format!("/v1/loads/{id}/events");
        let read = app.get(&path).by(&fast).send().await.ok();
        let updated = read[1].as_object().unwrap();
        let members: Vec<_> = updated.keys().map(String::as_str).collect();
        assert_eq!(members, ["atUTC", "changes", "id", "type"], "{read}");
        assert!(!read[1].to_string().contains("haul"), "{read}");
        let read = app.get(&path).by(&User::of("grain")).send().await.ok();
        assert_eq!((&read[1]["organisationId"], &read[1]["changes"]["carrierId"]["from"]), (&json!("haul"), &json!("haul")));
    }
}
