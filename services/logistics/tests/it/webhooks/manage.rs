//! Creating, reading, editing and deleting webhooks.

use testkit::{Process, TestDatabase};

use super::*;

const ALL: [&str; 7] = [
    "load.created",
    "load.updated",
    "load.cancelled",
    "load.completed",
    "load.corrected",
    "load.sent_to_driver",
    "load.sent_to_carrier",
];

testkit::on_both! {
    async fn a_webhook_is_created_read_edited_and_deleted(backend) {
        let (app, grain) = (app(backend).await, User::of("grain"));
        let form = json!({
            "url": " https://hooks.example/drover?a=b ", "events": ["load.updated", "load.created", "load.updated"],
            "description": "office",
        });
        let mut created = app.post("/v1/webhooks").by(&grain).json(&form).send().await.ok();
        let secret = created.as_object_mut().unwrap().remove("secret").unwrap();
        let key = STANDARD.decode(secret.as_str().unwrap().strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(key.len(), 32);
        assert_eq!(created, json!({
            "id": created["id"], "url": "https://hooks.example/drover?a=b", "events": ["load.updated", "load.created"],
            "description": "office", "status": "active", "scope": "own", "createdAtUTC": created["createdAtUTC"],
            "revision": 1, "updatedAtUTC": created["createdAtUTC"],
        }));
        let path = path(&created);
        let read = app.get(&path).by(&grain).send().await;
        assert_eq!(read.header("etag"), "\"1\"");
        assert_eq!(read.ok(), created);
        assert_eq!(app.get(&path).by(&grain).header("if-none-match", "\"1\"").send().await.status, 304);
        assert_eq!(app.get("/v1/webhooks").by(&grain).send().await.ok(), json!([created]));

        let patch = |members: Value| app.call("PATCH", &path).by(&grain).json(&members);
        let same = patch(json!({"events": ["load.updated", "load.created"], "url": created["url"]})).send().await;
        assert_eq!(same.header("etag"), "\"1\"", "a patch that changes nothing");
        let edited = patch(json!({"description": null, "events": ["load.cancelled"], "status": "disabled", "other": 1}));
        let edited = edited.header("if-match", "\"1\"").send().await;
        assert_eq!(edited.header("etag"), "\"2\"");
        let edited = edited.ok();
        assert_eq!(edited, json!({
            "id": created["id"], "url": created["url"], "events": ["load.cancelled"], "status": "disabled",
            "scope": "own", "createdAtUTC": created["createdAtUTC"], "revision": 2, "updatedAtUTC": edited["updatedAtUTC"],
        }));
        assert!(edited["updatedAtUTC"].as_str() > created["updatedAtUTC"].as_str());
        let stale = patch(json!({"status": "active"})).header("if-match", "\"1\"").send().await;
        assert_eq!((stale.json()["body"]["revision"].clone(), stale.error(412)), (json!(2), "precondition_failed".into()));
        assert_eq!(app.get(&path).by(&grain).send().await.ok(), edited);

        for stranger in [User::of("haul"), User::individual("ann")] {
            assert_eq!(app.call("DELETE", &path).by(&stranger).send().await.error(403), "forbidden");
        }
        let stale = app.call("DELETE", &path).by(&grain).header("if-match", "\"1\"").send().await;
        assert_eq!((stale.json()["body"]["revision"].clone(), stale.error(412)), (json!(2), "precondition_failed".into()));
        let deletion = app.call("DELETE", &path).by(&grain).header("if-match", "\"2\"").send().await;
        assert_eq!(deletion.ok()["status"], "success");
        for method in ["GET", "DELETE"] {
            assert_eq!(app.call(method, &path).by(&grain).send().await.error(404), "not_found");
        }
        assert_eq!(app.get("/v1/webhooks").by(&User::admin()).send().await.ok(), json!([]));
    }

    async fn a_secret_is_not_stored_for_a_repeated_request(backend) {
        let (app, grain) = (app(backend).await, User::of("grain"));
        let form = json!({"url": "https://hooks.example/", "events": ["load.updated"]});
        let mut operation = "/v1/webhooks".to_owned();
        for _ in 0..2 {
            let call = || app.post(&operation).by(&grain).header("idempotency-key", "1").json(&form);
            let (first, replay) = (call().send().await.ok(), call().send().await);
            assert!(first["secret"].as_str().unwrap().starts_with("whsec_"));
            assert_eq!(replay.header("idempotency-replayed"), "true");
            assert_eq!(replay.ok(), without(first.clone(), "secret"));
            operation = format!("{}/rotate-secret", path(&first));
        }
        let like = if backend == Backend::Sqlite { "answer" } else { "answer::text" };
        let stored = app.database.count(&format!("idempotency_keys WHERE {like} LIKE '%whsec_%'"));
        assert_eq!((app.database.count("idempotency_keys"), stored), (2, 0));
    }

    async fn invalid_webhooks_are_refused_with_all_errors(backend) {
        let (app, grain) = (app(backend).await, User::of("grain"));
        let post = |form: Value| app.post("/v1/webhooks").by(&grain).json(&form);
        for (form, expected) in [
            (json!({}), vec!["events required", "url required"]),
            (json!({"url": "http://a.example/", "events": []}), vec!["events length", "url format"]),
            (json!({"url": "https://10.0.0.1/", "events": ["load.created", "webhook.test"]}), vec!["events[1] enum", "url format"]),
            (json!({"url": "https://user@a.example/#x", "events": ["listing.closed", 5]}),
             vec!["events[0] enum", "events[1] type", "url format"]),
            (json!({"url": format!("https://a.example/{}", "a".repeat(2031)), "events": ALL}), vec!["url length"]),
            (json!({"url": "https://a.example/", "events": ALL, "description": "a\u{0}"}), vec!["description format"]),
        ] {
            let mut errors = post(form.clone()).send().await.errors();
            errors.sort();
            assert_eq!(errors, expected, "{form}");
        }
        let longest = format!("https://a.example/{}", "a".repeat(2030));
        let created = post(json!({"url": longest, "events": ALL})).send().await.ok();
        let patch = |members: Value| app.call("PATCH", &path(&created)).by(&grain).json(&members);
        for (members, expected) in [
            (json!({"id": "1", "secret": "x", "disabledReason": null, "createdAtUTC": 1, "revision": 1, "updatedAtUTC": 1}),
             vec!["createdAtUTC inconsistent", "disabledReason inconsistent", "id inconsistent", "revision inconsistent",
                "secret inconsistent", "updatedAtUTC inconsistent"]),
            (json!({"url": null, "events": null, "status": null}), vec!["events required", "status required", "url required"]),
            (json!({"url": "https://127.0.0.1/", "events": ["x"], "status": "deleted"}), vec!["events[0] enum", "status enum", "url format"]),
        ] {
            let mut errors = patch(members.clone()).send().await.errors();
            errors.sort();
            assert_eq!(errors, expected, "{members}");
        }
        let private = App::start::<Logistics>(backend, settings()).await;
        for (url, status) in [("http://127.0.0.1:1/", 200), ("ftp://127.0.0.1/", 400)] {
            let form = json!({"url": url, "events": ["load.created"]});
            assert_eq!(private.post("/v1/webhooks").by(&grain).json(&form).send().await.status, status, "{url}");
        }
    }

    async fn an_organisation_has_at_most_20_webhooks(backend) {
        let app = app(backend).await;
        let form = json!({"url": "https://a.example/", "events": ["load.created"]});
        let mut requests = tokio::task::JoinSet::new();
        for _ in 0..25 {
            let request = app.post("/v1/webhooks").by(&User::of("grain")).json(&form);
            requests.spawn(async move { request.send().await.status });
        }
        let statuses = requests.join_all().await;
        let created = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!((created, statuses.iter().filter(|status| **status == 409).count()), (20, 5), "{statuses:?}");
        let post = || app.post("/v1/webhooks").by(&User::of("grain")).json(&form);
        assert_eq!(post().send().await.error(409), "conflict");
        register(&app, "haul", "https://a.example/", &["load.created"]).await;
        let listed = app.get("/v1/webhooks?limit=5&count=true").by(&User::of("grain")).send().await;
        assert_eq!(listed.header("x-total-count"), "20");
        assert!(listed.header("link").contains("rel=\"next\""));
        let listed = listed.ok();
        assert_eq!(listed.as_array().unwrap().len(), 5);
        app.call("DELETE", &path(&listed[0])).by(&User::of("grain")).send().await.ok();
        post().send().await.ok();
        assert_eq!(post().send().await.error(409), "conflict");
    }

    async fn pages_of_webhooks_are_newest_first(backend) {
        let app = app(backend).await;
        let mut ids = Vec::new();
        for organisation in ["grain", "haul", "grain"] {
            ids.insert(0, register(&app, organisation, "https://a.example/", &["load.created"]).await["id"].clone());
        }
        let listed = async |path: &str, user: &User| {
            let listed = app.get(path).by(user).send().await.ok();
            listed.as_array().unwrap().iter().map(|webhook| webhook["id"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(listed("/v1/webhooks", &User::admin()).await, ids);
        assert_eq!(listed("/v1/webhooks?offset=1&limit=1", &User::admin()).await, ids[1..2]);
        assert_eq!(listed("/v1/webhooks", &User::of("grain")).await, [ids[0].clone(), ids[2].clone()]);
    }

    async fn changes_are_security_events(backend) {
        let database = TestDatabase::new::<Logistics>(backend).await;
        let service = Process::start(env!("CARGO_BIN_EXE_logistics"), &[("DATABASE__URL", &database.url)]);
        let admin = User::admin();
        let call = |method: &str, path: &str| service.call(method, path).by(&admin).header("idempotency-key", "k");
        let form = json!({"url": "https://hooks.example/drover?ottilie", "events": ["load.created"], "scope": "all"});
        let mut webhook = Value::Null;
        // Each is repeated: a replay, or a patch that changes nothing, is no event.
        for _ in 0..2 {
            webhook = call("POST", "/v1/webhooks").json(&form).send().await.ok();
        }
        let path = path(&webhook);
        for _ in 0..2 {
            call("POST", &format!("{path}/rotate-secret")).send().await.ok();
            call("PATCH", &path).json(&json!({"status": "disabled"})).send().await.ok();
        }
        call("DELETE", &path).send().await.ok();
        let events: Vec<_> = service
            .security_events()
            .into_iter()
            .map(|event| json!([event["event"], event["webhook"], event["scope"], event["status"]]))
            .collect();
        let id = &webhook["id"];
        assert_eq!(json!(events), json!([
            ["webhook_created", id, "all", null],
            ["secret_rotated", id, null, null],
            ["webhook_changed", id, "all", "disabled"],
            ["webhook_deleted", id, null, null],
        ]));
    }
}
