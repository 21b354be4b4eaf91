//! Sharing of a load's files with its parties, after the commit and with retries.

use std::time::{Duration, Instant};

use testkit::named_files;

use super::*;

fn proof(files: &[&String], net: f64) -> Value {
    json!({"weightNet": net, "ticketNumber": "T", "vehicleRegistration": "V", "files": named_files(files)})
}

fn with_files(form: Value, files: &[&String]) -> Value {
    with(form, "files", named_files(files))
}

/// Waits until no share is due.
async fn wait_for_shares(app: &App) {
    testkit::wait_until(async || app.database.count("due_shares") == 0).await;
}

async fn add_files(app: &App, user: &User, id: &str, files: &[&String]) -> TestResponse {
    let form = json!({ "files": named_files(files) });
    app.post(&format!("/v1/loads/{id}/files")).by(user).json(&form).send().await
}

testkit::on_both! {
    async fn files_arrive_after_the_proof(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul, dai) = (User::of("grain"), User::of("haul"), User::individual("dai"));
        let id = create_load(&app).await;
        app.post("/v1/loads/send-to-driver").by(&haul).json(&json!({"loadId": id, "driverId": "dai"})).send().await.ok();
        let (own, late, more) = (system.add("own.jpg", &grain), system.add("late.jpg", &dai), system.add("more.jpg", &haul));
        let path = format!("/v1/loads/{id}/proof-of-delivery");
        let proven = app.post(&path).by(&grain).json(&proof(&[&own], 20.0)).send().await.ok();
        let shares = system.shares().await.len();
        let load = add_files(&app, &dai, &id, &[&late]).await.ok();
        let mut expected = revised(proven, &load);
        expected["files"].as_array_mut().unwrap().push(load["files"][1].clone());
        assert_eq!((&load["files"][1]["id"], &load), (&json!(late), &expected));
        let shared = system.shares().await.split_off(shares);
        assert_eq!(shared, [json!({"ids": [late], "shareWith": ["grain", "haul"]})]);
        let event = events(&app, &id).await.pop().unwrap();
        assert_eq!((&event["type"], &event["userId"]), (&json!("updated"), &json!("dai")));
        assert_eq!(event["changes"]["files"]["to"].as_array().unwrap().len(), 2);

        // Again it changes nothing; the proof is as it was, and reopening keeps what came later.
        assert_eq!(add_files(&app, &dai, &id, &[&late]).await.ok(), load);
        assert_eq!(app.post(&path).by(&grain).json(&proof(&[&own], 20.0)).send().await.ok()["revision"], load["revision"]);
        let stale = json!({ "files": named_files(&[&more]) });
        let files = format!("/v1/loads/{id}/files");
        assert_eq!(app.post(&files).by(&haul).json(&stale).header("if-match", "\"1\"").send().await.status, 412);
        add_files(&app, &haul, &id, &[&late, &more]).await.ok();
        let reopened = app.post(&format!("/v1/loads/{id}/reopen")).by(&grain).json(&json!({"reason": "r"})).send().await.ok();
        assert_eq!(testkit::file_ids(&reopened), [late, more]);
        add_files(&app, &grain, &id, &[]).await.errors().iter().for_each(|error| assert_eq!(error, "files length"));
        let unknown = "0190f5fe-0000-7000-8000-000000000000".to_owned();
        assert_eq!(add_files(&app, &grain, &id, &[&unknown]).await.errors(), ["files[0].id unknown_reference"]);
        app.post(&format!("/v1/loads/{id}/cancel")).by(&grain).json(&json!({})).send().await.ok();
        let refused = add_files(&app, &grain, &id, &[&own]).await;
        assert_eq!((refused.status, &refused.json()["body"]["reason"]), (409, &json!("load_cancelled")));
    }

    async fn a_load_gets_no_more_than_100_files(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, id) = (User::of("grain"), create_load(&app).await);
        let files: Vec<String> = (0..101).map(|n| system.add(&format!("{n}.jpg"), &grain)).collect();
        for part in files[..100].chunks(50) {
            add_files(&app, &grain, &id, &part.iter().collect::<Vec<_>>()).await.ok();
        }
        let refused = add_files(&app, &grain, &id, &[&files[100]]).await;
        assert_eq!((refused.status, &refused.json()["body"]["reason"]), (409, &json!("limit_reached")));
        assert_eq!(add_files(&app, &grain, &id, &[&files[0]]).await.status, 200, "it has this one");
    }

    async fn rejected_concurrent_proofs_share_nothing(backend) {
        let (app, system) = app_with_files(backend).await;
        for _ in 0..24 {
            let id = create_load(&app).await;
            let before = system.shares().await.len();
            let mut calls = tokio::task::JoinSet::new();
            for (n, org) in ["haul", "grain"].into_iter().enumerate() {
                let (user, path) = (User::of(org), format!("/v1/loads/{id}/proof-of-delivery"));
                let file = system.add("signed.jpg", &user);
                let sent = app.post(&path).by(&user).json(&proof(&[&file], 20.0 + f64::from(u32::try_from(n).unwrap()))).send();
                calls.spawn(async move { (sent.await.status, file) });
            }
            let mut won: Vec<_> = calls.join_all().await;
            won.retain(|(status, _)| *status == 200);
            let shared: Vec<_> = system.shares().await.split_off(before);
            assert_eq!(won.len(), 1);
            assert_eq!(shared, [json!({"ids": [won[0].1], "shareWith": ["grain", "haul"]})]);
        }
        assert_eq!(app.database.count("due_shares"), 0);
    }

    async fn shares_with_the_parties_at_the_time_of_the_commit(backend) {
        let (app, system) = app_with_files(backend).await;
        let grain = User::of("grain");
        let look_up = Duration::from_millis(1500);
        // A carrier is assigned during the look-up of the proof's file. On a busy machine that may take longer than the
        // look-up, which proves nothing.
        for _ in 0..5 {
            let load = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
            let id = load["id"].as_str().unwrap();
            let file = system.add("signed.jpg", &grain);
            let (calls, shares) = (system.calls().await.len(), system.shares().await.len());
            system.delay(1, look_up);
            let path = format!("/v1/loads/{id}/proof-of-delivery");
            let proven = app.post(&path).by(&grain).json(&proof(&[&file], 1.0)).send();
            let assigned = async {
                let begun = Instant::now();
                // A moment before the look-up.
                let mut before = begun;
                loop {
                    let now = Instant::now();
                    if system.calls().await.len() > calls {
                        break;
                    }
                    assert!(begun.elapsed() < Duration::from_secs(30), "the file is not looked up");
                    before = now;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                // Shares are not delayed.
                system.delay(1, Duration::ZERO);
                let form = json!({"loadId": id, "carrierId": "haul"});
                let reply = app.post("/v1/loads/send-to-carrier").by(&grain).json(&form).send().await;
                (reply, before.elapsed() < look_up)
            };
            let (proven, (assigned, is_in_time)) = tokio::join!(proven, assigned);
            if is_in_time {
                assigned.ok();
                assert_eq!(proven.ok()["carrier"]["id"], "haul");
                let shared = system.shares().await.split_off(shares);
                assert_eq!(shared, [json!({"ids": [file], "shareWith": ["grain", "haul"]})]);
                return;
            }
        }
        panic!("no assignment was faster than the look-up");
    }

    async fn failed_shares_are_retried_after_a_restart(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let files = [&system.add("one.jpg", &haul), &system.add("two.jpg", &grain), &system.add("three.jpg", &grain)];
        system.set_share_status(Some(503));
        // Requests succeed once they are committed.
        let load = app.post("/v1/loads/carrier").by(&haul).json(&with_files(carrier_form(), &files[..1])).send().await.ok();
        let path = format!("/v1/loads/{}/proof-of-delivery", load["id"].as_str().unwrap());
        app.post(&path).by(&grain).json(&proof(&files[1..2], 1.0)).send().await.ok();
        let other = app.post("/v1/loads/organiser").by(&grain).json(&with_files(organiser_form(), &files[2..])).send().await.ok();
        let form = json!({"loadId": other["id"], "carrierId": "haul"});
        app.post("/v1/loads/send-to-carrier").by(&grain).json(&form).send().await.ok();
        let log = format!("/v1/loads/{}/notifications", other["id"].as_str().unwrap());
        assert_eq!(app.get(&log).by(&grain).send().await.ok().as_array().unwrap().len(), 1, "one notification");
        assert_eq!(app.database.count("due_shares"), 4);
        // A slow machine sees retries as well.
        let mut expected = Vec::new();
        for share in system.shares().await {
            if !expected.contains(&share) {
                expected.push(share);
            }
        }
        assert_eq!(expected, [
            json!({"ids": [files[0]], "shareWith": ["grain", "haul"]}),
            json!({"ids": [files[1]], "shareWith": ["grain", "haul"]}),
            json!({"ids": [files[2]], "shareWith": ["grain"]}),
            json!({"ids": [files[2]], "shareWith": ["haul"]}),
        ]);

        let database = app.stop().await;
        let before = system.shares().await.len();
        system.set_share_status(None);
        let settings = Settings { system_url: system.url(), ..Settings::default() };
        let app = App::start_on::<Logistics>(database, settings.clone()).await;
        let replica = App::start_replica::<Logistics>(&app, settings).await;
        wait_for_shares(&replica).await;
        let mut shared = system.shares().await.split_off(before);
        let sort = |calls: &mut Vec<Value>| calls.sort_by_key(ToString::to_string);
        sort(&mut shared);
        sort(&mut expected);
        assert_eq!(shared, expected, "each share once, by either replica");
    }

    async fn shares_that_cannot_succeed_are_dropped(backend) {
        let (app, system) = app_with_files(backend).await;
        let haul = User::of("haul");
        let create = async |user: &User| {
            let form = with_files(carrier_form(), &[&system.add("one.jpg", user)]);
            app.post("/v1/loads/carrier").by(user).json(&form).send().await.ok();
        };
        for status in [400, 401, 403] {
            system.set_share_status(Some(status));
            create(&haul).await;
            assert_eq!(app.database.count("due_shares"), 0, "{status}");
        }
        // No retry can succeed after the token expires.
        system.set_share_status(Some(503));
        let mut expiring = haul.clone();
        expiring.claims["exp"] = json!(std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 2);
        create(&expiring).await;
        assert_eq!(app.database.count("due_shares"), 1);
        wait_for_shares(&app).await;
    }

    async fn admins_share_files_of_the_parties_only(backend) {
        let (app, system) = app_with_files(backend).await;
        let admin = User::admin();
        let office = User::admin().with("org", "office");
        let uploaders = [User::of("grain"), User::of("haul"), User::of("third"), admin.clone(), office.clone()];
        let files = uploaders.each_ref().map(|user| system.add("f.jpg", user));
        let all = files.each_ref();
        for (by, with_carrier) in [(&admin, 3), (&office, 3)] {
            let before = system.shares().await.len();
            let form = with_files(carrier_form(), &all);
            let load = app.post("/v1/loads/carrier").by(by).json(&form).send().await.ok();
            assert_eq!(load["files"].as_array().unwrap().len(), 5, "the other files are referenced");
            let path = format!("/v1/loads/{}/proof-of-delivery", load["id"].as_str().unwrap());
            let send = json!({"loadId": load["id"], "carrierId": "haul"});
            app.post("/v1/loads/send-to-carrier").by(by).json(&send).send().await.ok();
            app.post(&path).by(by).json(&proof(&all, 1.0)).send().await.ok();
            let shared = system.shares().await.split_off(before);
            assert_eq!(shared.len(), with_carrier);
            assert!(shared.iter().all(|call| call["ids"] == json!(files[..2])), "{shared:?}");
        }
    }

    async fn sending_shares_no_files_that_the_carrier_referenced(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let contract = system.add("contract.pdf", &grain);
        let form = with_files(carrier_form(), &[&contract]);
        let load = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
        assert_eq!(load["organiser"]["id"], "grain");
        let form = json!({"loadId": load["id"], "carrierId": "haul"});
        for user in [&grain, &User::admin()] {
            app.post("/v1/loads/send-to-carrier").by(user).json(&form).send().await.ok();
        }
        assert!(system.shares().await.is_empty());
    }

    async fn drivers_share_their_own_uploads(backend) {
        let (app, system) = app_with_files(backend).await;
        for driver in [User::individual("dai"), User::of("agency").with("sub", "dai")] {
            let id = create_load(&app).await;
            let sent = json!({"loadId": id, "driverId": "dai"});
            app.post("/v1/loads/send-to-driver").by(&User::of("haul")).json(&sent).send().await.ok();
            let before = system.shares().await.len();
            let own = system.add("signed.jpg", &driver);
            let others = [
                system.add("a.jpg", &User::of("agency")), system.add("h.jpg", &User::of("haul")),
                system.add("d.jpg", &User::of("elsewhere").with("sub", "dai")),
            ];
            let form = proof(&[&others[0], &own, &others[1], &others[2]], 1.0);
            app.post(&format!("/v1/loads/{id}/proof-of-delivery")).by(&driver).json(&form).send().await.ok();
            assert_eq!(system.shares().await[before..], [json!({"ids": [own], "shareWith": ["grain", "haul"]})]);
        }
    }

    async fn unknown_files_are_reported_with_all_other_errors(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let archived = system.add("archived.jpg", &haul);
        system.archive(&archived);
        let (known, unknown) = (system.add("known.jpg", &haul), UNKNOWN.to_owned());
        let files = json!([{"id": known}, {"id": unknown}, {"id": "nonsense"}, {"id": 5}, {"id": archived}]);
        let id = create_load(&app).await;
        let errors = |others: &[&str]| {
            let codes = ["files[1].id unknown_reference", "files[2].id unknown_reference", "files[3].id type", "files[4].id unknown_reference"];
            let mut all: Vec<_> = codes.iter().chain(others).map(ToString::to_string).collect();
            all.sort();
            all
        };
        let organiser = with(with(organiser_form(), "files", files.clone()), "commodityId", json!(999_999));
        let carrier = with(with(carrier_form(), "files", files.clone()), "weight", json!(-1));
        let delivery = with(proof(&[], -1.0), "files", files);
        let named = with(delivery.clone(), "loadId", json!("nonsense"));
        let in_path = format!("/v1/loads/{id}/proof-of-delivery");
        for (path, user, form, others) in [
            ("/v1/loads/organiser", &grain, &organiser, &["commodityId unknown_reference"][..]),
            ("/v1/loads/carrier", &haul, &carrier, &["weight range"]),
            (&in_path, &haul, &delivery, &["weightNet range"]),
            ("/v1/loads/proof-of-delivery", &haul, &named, &["weightNet range", "loadId unknown_reference"]),
        ] {
            let before = system.calls().await.len();
            assert_eq!(app.post(path).by(user).json(form).send().await.errors(), errors(others), "{path}");
            assert_eq!(system.calls().await[before..], [json!({"ids": [known, unknown, archived]})], "{path}: one call");
        }
        // An unknown load is reported with the other errors. 403 for another organisation comes after them.
        let nowhere = with(proof(&[&unknown], 1.0), "loadId", json!(UNKNOWN));
        let reply = app.post("/v1/loads/proof-of-delivery").by(&haul).json(&nowhere).send().await;
        assert_eq!(reply.errors(), ["files[0].id unknown_reference", "loadId unknown_reference"]);
        for (path, form) in [("/v1/loads/organiser", organiser_form()), ("/v1/loads/carrier", carrier_form())] {
            let post = |files: &[&String]| app.post(path).by(&User::of("other")).json(&with_files(form.clone(), files)).send();
            assert_eq!(post(&[&unknown]).await.errors(), ["files[0].id unknown_reference"]);
            assert_eq!(post(&[&known]).await.error(403), "forbidden");
        }
        assert!(system.shares().await.is_empty());

        // Without system the other errors are still reported.
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let without_system = App::start_replica::<Logistics>(&app, settings).await;
        let reply = without_system.post("/v1/loads/organiser").by(&grain).json(&organiser).send().await;
        assert_eq!(reply.errors(), ["commodityId unknown_reference", "files[3].id type"]);
        let other = without_system.post("/v1/loads/carrier").by(&User::of("other")).json(&with_files(carrier_form(), &[&unknown]));
        assert_eq!(other.send().await.error(403), "forbidden");
    }
}

const UNKNOWN: &str = "0190f5fe-0000-7000-8000-000000000000";

#[test]
fn slow_requests_of_one_tenant_do_not_block_others() {
    testkit::block_on(async {
        let (app, system) = app_with_files(Backend::Sqlite).await;
        let (attacker, haul) = (User::of("attacker"), User::of("haul"));
        let many: Vec<_> = (0..50).map(|_| system.add("f.jpg", &attacker)).collect();
        let slow = with(
            with_files(carrier_form(), &many.iter().collect::<Vec<_>>()),
            "carrierId",
            json!("attacker"),
        );
        system.delay(50, Duration::from_secs(30));
        let mut attack = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let call = app.post("/v1/loads/carrier").by(&attacker).json(&slow).send();
            attack.spawn(async move { call.await.status });
        }
        // The attack fails after three attempts of two seconds each: 24 failures in a row without the calls below.
        let file = system.add("ticket.jpg", &haul);
        let mut served = 0;
        while !attack.is_empty() {
            while let Some(status) = attack.try_join_next() {
                assert_eq!(status.unwrap(), 503);
            }
            // Pauses now and then, so that failures follow each other.
            tokio::time::sleep(Duration::from_millis(if served % 2 == 0 { 2500 } else { 100 })).await;
            let form = with_files(carrier_form(), &[&file]);
            assert_eq!(
                app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.status,
                200,
                "{served}"
            );
            served += 1;
        }
        assert!(served > 1);
    });
}

#[test]
fn oversized_responses_fail_without_opening_the_circuit_breaker() {
    testkit::block_on(async {
        let (app, system) = app_with_files(Backend::Sqlite).await;
        let haul = User::of("haul");
        let form = with_files(carrier_form(), &[&system.add("ticket.jpg", &haul)]);
        let post = || app.post("/v1/loads/carrier").by(&haul).json(&form).send();
        system.pad(17 << 20);
        for _ in 0..8 {
            assert_eq!(post().await.error(503), "dependency_unavailable");
        }
        system.pad(15 << 20);
        post().await.ok();
    });
}
