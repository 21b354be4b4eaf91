//! Notes on loads.

use testkit::WebhookReceiver;

use super::*;

async fn note(app: &App, user: &User, id: &str, text: &str) -> TestResponse {
    app.post(&format!("/v1/loads/{id}/notes")).by(user).json(&json!({ "text": text })).send().await
}

/// Returns the texts of the notes that a user reads.
async fn texts(app: &App, user: &User, id: &str) -> Vec<String> {
    let path = format!("/v1/loads/{id}/events?f:type=noted&count=true&limit=100");
    let notes = app.get(&path).by(user).send().await;
    let total: usize = notes.header("x-total-count").parse().unwrap();
    let notes = notes.ok();
    let texts: Vec<_> =
        notes.as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(total.min(100), texts.len());
    texts
}

async fn send_to_driver(app: &App, id: &str, driver: &str) {
    // Drivers read notes by their time, which has milliseconds.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let sent = json!({"loadId": id, "driverId": driver});
    app.post("/v1/loads/send-to-driver").by(&User::of("grain")).json(&sent).send().await.ok();
}

/// Returns the texts of notes in the feed of a user.
async fn feed(app: &App, user: &User, query: &str) -> Vec<Value> {
    let page = app.get(&format!("/v1/events?f:type=load.noted&limit=500&{query}")).by(user).send().await.ok();
    page["events"].as_array().unwrap().iter().map(|event| event["text"].clone()).collect()
}

testkit::on_both! {
    async fn a_note_is_an_event_that_changes_nothing(backend) {
        let settings = Settings { webhook_allow_private: true, ..Settings::default() };
        let app = App::start::<Logistics>(backend, settings).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let id = create_load(&app).await;
        let receiver = WebhookReceiver::start(respond_with(200)).await;
        let form = json!({"url": receiver.url(), "events": ["load.noted"]});
        app.post("/v1/webhooks").by(&grain).json(&form).send().await.ok();
        let path = format!("/v1/loads/{id}");
        let before = app.get(&path).by(&grain).send().await.ok();
        let text = "The gate is locked:\n\tring first";
        let stored = note(&app, &haul, &id, text).await.ok();
        assert_eq!(stored["status"], "success");
        assert_eq!(app.get(&path).by(&grain).send().await.ok(), before);

        let history = events(&app, &id).await;
        let expected = json!({
            "id": stored["id"], "type": "noted", "atUTC": history[1]["atUTC"], "text": text,
            "userId": haul.claims["sub"], "userName": haul.claims["name"], "organisationId": "haul",
        });
        assert_eq!((history.len(), &history[1]), (2, &expected));
        testkit::wait_until(async || feed(&app, &grain, "").await.len() == 1).await;
        let found = app.get("/v1/events?f:type=load.noted").by(&grain).send().await.ok();
        let of_feed = &found["events"][0];
        assert_eq!((&of_feed["id"], &of_feed["text"], &of_feed["revision"]), (&stored["id"], &json!(text), &json!(1)));
        assert_eq!((&of_feed["reference"], &of_feed["userName"]), (&json!("HH-1"), &haul.claims["name"]));
        let body: Value = serde_json::from_slice(&receiver.wait_for(1).await[0].body).unwrap();
        assert_eq!(body["data"], json!({
            "userId": haul.claims["sub"], "organisationId": "haul", "text": text, "load": before,
        }));

        // In every status, whatever revision `If-Match` names, and once with a key.
        cancel(&app, &grain, &id).await.ok();
        let form = json!({"text": "after the end"});
        let post = || app.post(&format!("{path}/notes")).by(&grain).json(&form).header("if-match", "\"9\"");
        let first = post().header("idempotency-key", "k").send().await.ok();
        assert_eq!(post().header("idempotency-key", "k").send().await.ok(), first);
        assert_eq!(texts(&app, &grain, &id).await, [text, "after the end"]);
        let found = app.get("/v1/loads?f:status=cancelled&query=locked").by(&grain).send().await.ok();
        assert_eq!(found, json!([]), "searches do not look into notes");
    }

    async fn wrong_notes_are_refused(backend) {
        let app = app(backend).await;
        let (grain, id) = (User::of("grain"), create_load(&app).await);
        for (text, error) in [
            ("", "text length"), (" \n ", "text length"), (&*"x".repeat(2_001), "text length"),
            ("a\u{0}b", "text format"),
        ] {
            assert_eq!(note(&app, &grain, &id, text).await.errors(), [error], "{text:?}");
        }
        let path = format!("/v1/loads/{id}/notes");
        assert_eq!(app.post(&path).by(&grain).json(&json!({})).send().await.errors(), ["text required"]);
        assert_eq!(app.post(&path).by(&grain).json(&json!({"text": 1})).send().await.errors(), ["text type"]);
        note(&app, &grain, &id, &"\u{1f404}".repeat(2_000)).await.ok();
        let unknown = "0190f5fe-0000-7000-8000-000000000000";
        assert_eq!(note(&app, &grain, unknown, "n").await.error(404), "not_found");
        for stranger in [User::of("mill"), User::individual("dai")] {
            assert_eq!(note(&app, &stranger, &id, "n").await.error(403), "forbidden");
        }
        let history = format!("/v1/loads/{id}/events?f:type=");
        assert_eq!(app.get(&format!("{history}nonsense")).by(&grain).send().await.errors(), ["f:type enum"]);
        assert_eq!(app.get(&format!("{history}released")).by(&grain).send().await.errors(), ["f:type enum"]);
    }

    async fn histories_are_filtered_by_type(backend) {
        let app = app(backend).await;
        let (grain, id) = (User::of("grain"), create_load(&app).await);
        accept(&app, &id).await;
        for n in 0..3 {
            note(&app, &grain, &id, &format!("{n}")).await.ok();
            patch(&app, &grain, &id, &json!({"weight": n + 1})).await.ok();
        }
        let all = events(&app, &id).await;
        for (types, wanted) in [
            ("noted", &["noted"][..]), ("created,noted", &["created", "noted"]),
            ("accepted&f:type=updated", &["accepted", "updated"]), ("cancelled", &[]),
        ] {
            let expected: Vec<_> =
                all.iter().filter(|event| wanted.contains(&event["type"].as_str().unwrap())).cloned().collect();
            for limit in 1..=4 {
                let path = format!("/v1/loads/{id}/events?f:type={types}&limit={limit}&count=true");
                let mut found = Vec::new();
                for page in app.pages(&grain, &path).await {
                    assert_eq!(page.header("x-total-count"), expected.len().to_string(), "{types}");
                    found.extend(page.entries());
                }
                assert_eq!(found, expected, "{types}");
            }
        }
    }

    async fn drivers_and_former_parties_read_their_notes_only(backend) {
        let app = app(backend).await;
        let (grain, haul, fast, dai) =
            (User::of("grain"), User::of("haul"), User::of("fast"), User::individual("dai"));
        let id = create_load(&app).await;
        note(&app, &grain, &id, "1").await.ok();
        send_to_driver(&app, &id, "dai").await;
        note(&app, &dai, &id, "2").await.ok();
        assert_eq!(texts(&app, &dai, &id).await, ["2"]);
        send_to_driver(&app, &id, "dai").await;
        note(&app, &haul, &id, "3").await.ok();
        assert_eq!(texts(&app, &dai, &id).await, ["3"], "since the last sending");
        let path = format!("/v1/loads/{id}/events");
        for query in ["", "?f:type=updated", "?f:type=noted,updated"] {
            assert_eq!(app.get(&format!("{path}{query}")).by(&dai).send().await.error(403), "forbidden");
        }
        assert_eq!(texts(&app, &haul, &id).await, ["1", "2", "3"]);
        testkit::wait_until(async || feed(&app, &dai, "f:driverId=me").await.len() == 2).await;

        // Another carrier reads the notes from then on, and the old one, which created the load, those until then.
        patch(&app, &grain, &id, &json!({"carrierId": "fast"})).await.ok();
        note(&app, &grain, &id, "4").await.ok();
        assert_eq!(texts(&app, &fast, &id).await, ["4"]);
        assert_eq!(texts(&app, &haul, &id).await, ["1", "2", "3"]);
        assert_eq!(note(&app, &haul, &id, "n").await.error(403), "forbidden");
        assert_eq!(app.get(&path).by(&haul).send().await.error(403), "forbidden");
        testkit::wait_until(async || feed(&app, &fast, "").await == [json!("4")]).await;
        assert_eq!(feed(&app, &haul, "").await, [json!("1"), json!("2"), json!("3")]);
        assert_eq!(texts(&app, &dai, &id).await, ["3", "4"]);
        app.get(&format!("{path}?f:type=noted,noted")).by(&dai).send().await.ok();
        app.call("DELETE", &format!("/v1/loads/{id}/drivers/dai")).by(&grain).send().await.ok();
        let revoked = app.get(&format!("{path}?f:type=noted")).by(&dai).send().await;
        assert_eq!(revoked.error(403), "forbidden");
        let stranger = app.get(&format!("{path}?f:type=noted")).by(&User::of("mill")).send().await;
        assert_eq!(stranger.error(403), "forbidden");
        assert_eq!(texts(&app, &User::admin(), &id).await, ["1", "2", "3", "4"]);
    }

    async fn searches_show_the_newest_note_that_the_caller_reads(backend) {
        let app = app(backend).await;
        let (grain, fast, dai) = (User::of("grain"), User::of("fast"), User::individual("dai"));
        let (id, other) = (create_load(&app).await, create_load(&app).await);
        let newest = async |user: &User, query: &str| {
            let found = app.get(&format!("/v1/loads?{query}")).by(user).send().await.ok();
            let found = found.as_array().unwrap().iter().map(|load| (load["id"].clone(), load["newestNote"].clone()));
            found.filter(|(_, note)| !note.is_null()).collect::<Vec<_>>()
        };
        let query = "include=newestNote";
        assert_eq!(newest(&grain, query).await, []);
        note(&app, &grain, &id, "1").await.ok();
        let second = note(&app, &grain, &id, "2").await.ok();
        note(&app, &grain, &other, "3").await.ok();
        let history = app.get(&format!("/v1/loads/{id}/events?f:type=noted")).by(&grain).send().await.ok();
        let expected = json!({
            "id": second["id"], "userId": grain.claims["sub"], "userName": grain.claims["name"],
            "organisationId": "grain", "atUTC": history[1]["atUTC"], "text": "2",
        });
        let found = newest(&grain, query).await;
        assert_eq!((found.len(), &found[1]), (2, &(json!(id), expected.clone())), "newest first");
        assert_eq!(newest(&User::admin(), query).await, found);
        assert_eq!(newest(&grain, "limit=1&sortBy=createdAt&include=newestNote").await, [(json!(id), expected)]);
        assert_eq!(newest(&grain, "").await, [], "only if it is asked for");
        let wrong = app.get("/v1/loads?include=notes").by(&grain).send().await;
        assert_eq!(wrong.errors(), ["include enum"]);

        // A driver reads notes since the sending, and a new carrier those of its own time.
        send_to_driver(&app, &id, "dai").await;
        let query = "include=newestNote&f:driverId=me";
        assert_eq!(newest(&dai, query).await, []);
        note(&app, &dai, &id, "4").await.ok();
        assert_eq!(newest(&dai, query).await[0].1["text"], "4");
        patch(&app, &grain, &id, &json!({"carrierId": "fast"})).await.ok();
        assert_eq!(newest(&fast, "include=newestNote").await, []);
        note(&app, &grain, &id, "5").await.ok();
        assert_eq!(newest(&fast, "include=newestNote").await[0].1["text"], "5");
    }

    async fn notes_of_a_load_and_of_a_user_are_limited(backend) {
        let app = app(backend).await;
        let (admin, id) = (User::admin(), create_load(&app).await);
        for _ in 0..59 {
            note(&app, &admin, &id, "n").await.ok();
        }
        // Refused notes do not count.
        for _ in 0..3 {
            note(&app, &admin, &id, "").await.error(400);
        }
        let (one, other) = (create_load(&app).await, create_load(&app).await);
        let (one, other) = tokio::join!(note(&app, &admin, &one, "n"), note(&app, &admin, &other, "n"));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 429]);
        let refused = note(&app, &admin, &id, "n").await;
        let wait: u64 = refused.header("retry-after").parse().unwrap();
        assert!(wait > 3_400 && wait <= 3_601, "{wait}");
        assert_eq!(refused.error(429), "rate_limited");
        let (table, ago) = match backend {
            Backend::Sqlite => ("user_notes", "at - 3600000"),
            Backend::Postgres => ("logistics.user_notes", "at - interval '1 hour'"),
        };
        app.database.execute(&format!("UPDATE {table} SET at = {ago}"));
        note(&app, &admin, &id, "n").await.ok();
        assert_eq!(app.database.count(table), 60);

        // Another user each time.
        let mut noted = 60;
        while noted < 200 {
            let mut user = User::of("grain");
            user.claims["sub"] = json!(format!("user-{}", noted / 50));
            note(&app, &user, &id, "n").await.ok();
            noted += 1;
        }
        let refused = note(&app, &User::of("haul"), &id, "n").await;
        assert_eq!((refused.status, &refused.json()["body"]["reason"]), (409, &json!("limit_reached")));
        assert_eq!(texts(&app, &User::of("grain"), &id).await.len(), 100, "a page of 200");
    }

    async fn an_erasure_replaces_the_text(backend) {
        let app = app(backend).await;
        let (zeph, grain) = (testkit::ErasedUser::of("grain"), User::of("grain"));
        let hook = json!({"url": "https://127-0-0-1.invalid/", "events": ["load.noted"]});
        app.post("/v1/webhooks").by(&grain).json(&hook).send().await.ok();
        let id = create_load(&app).await;
        note(&app, &zeph, &id, "Zeph was here").await.ok();
        note(&app, &grain, &id, "kept").await.ok();
        assert!(app.database.mentions("Zeph was here").len() >= 2);
        let data = app.get(&format!("/v1/users/{}/data", testkit::ErasedUser::IN_PATH)).by(&User::admin()).send().await.ok();
        assert_eq!(data["events"][0]["text"], "Zeph was here");
        testkit::ErasedUser::erase(&app).await;
        testkit::ErasedUser::assert_erased(&app).await;
        assert_eq!(app.database.mentions("Zeph was here"), Vec::<String>::new());
        assert_eq!(texts(&app, &grain, &id).await, ["erased", "kept"]);
    }
}
