//! Creating, listing, editing and deleting service accounts.

use chrono::{Months, Utc};
use serde_json::{Value, json};
use testkit::{App, User};

use super::{Started, create, credentials, named, oauth_error, path, request_token, start, token};

/// Returns the number of rows that contain a text in a column.
fn stored(app: &App, table: &str, column: &str, text: &str) -> i64 {
    app.database.count(&format!("{table} WHERE {column} LIKE '%{text}%'"))
}

testkit::on_both! {
    async fn a_secret_is_shown_once(backend) {
        let Started { app, .. } = &start(backend).await;
        let farm = User::of("farm");
        let form = json!({"name": " Weighbridge Hereford ", "roles": ["weighbridge", "viewer", "weighbridge"]});
        let account = create(app, &farm, form).await;
        let secret = account["clientSecret"].as_str().unwrap().to_owned();
        assert!(secret.starts_with("drover_sa_") && secret.len() == 53, "{secret}");
        assert_eq!(account["clientId"], account["id"]);
        let mut expected = account.clone();
        expected.as_object_mut().unwrap().remove("clientSecret");
        let names: Vec<_> = expected.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["clientId", "createdAtUTC", "id", "name", "organisationId", "roles"]);
        assert_eq!(expected["name"], "Weighbridge Hereford");
        assert_eq!(expected["roles"], json!(["weighbridge", "viewer"]));
        assert_eq!(expected["organisationId"], "farm");
        assert_eq!(app.get(&path(&account)).by(&farm).send().await.ok(), expected);
        assert_eq!(app.get("/v1/service-accounts").by(&farm).send().await.ok(), json!([expected]));

        assert_eq!(stored(app, "service_accounts", "secrets", &secret), 0, "secrets are stored hashed");
        assert_eq!(stored(app, "service_accounts", "name", "Weighbridge Hereford"), 1);

        let patched = app.call("PATCH", &path(&account)).by(&farm).json(&json!({"roles": null})).send().await.ok();
        assert_eq!((&patched["roles"], &patched["name"]), (&json!([]), &json!("Weighbridge Hereford")));
        let patch = json!({"name": "Office"});
        assert_eq!(app.call("PATCH", &path(&account)).by(&farm).json(&patch).send().await.ok()["name"], "Office");
        assert_eq!(app.get(&path(&account)).by(&farm).send().await.ok()["name"], "Office");
        app.call("DELETE", &path(&account)).by(&farm).send().await.ok();
        assert_eq!(app.get(&path(&account)).by(&farm).send().await.error(404), "not_found");
        assert_eq!(app.call("DELETE", &path(&account)).by(&farm).send().await.error(404), "not_found");
    }

    async fn invalid_requests_are_refused(backend) {
        let Started { app, .. } = &start(backend).await;
        let farm = User::of("farm");
        let at = |months| Utc::now().checked_add_months(Months::new(months)).unwrap();
        let last = at(24).to_rfc3339();
        assert_eq!(create(app, &farm, json!({"name": "a", "expiresAtUTC": last})).await["name"], "a");
        let late = (at(24) + chrono::TimeDelta::minutes(1)).to_rfc3339();
        let past = (Utc::now() - chrono::TimeDelta::seconds(1)).to_rfc3339();
        for (form, error) in [
            (json!({}), "name required"),
            (json!({"name": "x".repeat(201)}), "name length"),
            (json!({"name": "a\nb"}), "name format"),
            (json!({"name": "a", "roles": ["admin"]}), "roles[0] enum"),
            (json!({"name": "a", "roles": "viewer"}), "roles type"),
            (json!({"name": "a", "expiresAtUTC": "soon"}), "expiresAtUTC format"),
            (json!({"name": "a", "expiresAtUTC": late}), "expiresAtUTC range"),
            (json!({"name": "a", "expiresAtUTC": past}), "expiresAtUTC range"),
        ] {
            let response = app.post("/v1/service-accounts").by(&farm).json(&form).send().await;
            assert_eq!(response.errors(), [error], "{form}");
        }
        let account = create(app, &farm, named("b")).await;
        for (patch, error) in [
            (json!({"name": null}), "name required"),
            (json!({"clientSecret": "guess"}), "clientSecret inconsistent"),
            (json!({"expiresAtUTC": "2027-01-01"}), "expiresAtUTC inconsistent"),
            (json!({"organisationId": "other"}), "organisationId inconsistent"),
            (json!({"roles": ["admin"]}), "roles[0] enum"),
        ] {
            let response = app.call("PATCH", &path(&account)).by(&farm).json(&patch).send().await;
            assert_eq!(response.errors(), [error], "{patch}");
        }
    }

    async fn lists_are_paged_and_of_one_organisation(backend) {
        let Started { app, .. } = &start(backend).await;
        let (farm, other) = (User::of("farm"), User::of("other"));
        let mut names = Vec::new();
        for n in 0..5 {
            create(app, &farm, named(&format!("a{n}"))).await;
            names.insert(0, format!("a{n}"));
        }
        create(app, &other, named("theirs")).await;
        let mut listed = Vec::new();
        let viewer = farm.clone().with_roles(&["viewer"]);
        for page in app.pages(&viewer, "/v1/service-accounts?limit=2&count=true").await {
            assert_eq!(page.header("x-total-count"), "5");
            listed.extend(page.entries().iter().map(|a| a["name"].as_str().unwrap().to_owned()));
        }
        assert_eq!(listed, names);
        let all = app.get("/v1/service-accounts").by(&User::admin()).send().await.ok();
        assert_eq!(all.as_array().unwrap().len(), 6);
        let none = app.get("/v1/service-accounts").by(&User::individual("x")).send().await.ok();
        assert_eq!(none, json!([]));
    }

    async fn an_organisation_has_at_most_twenty(backend) {
        let Started { app, .. } = &start(backend).await;
        let farm = User::of("farm");
        let soon = (Utc::now() + chrono::TimeDelta::milliseconds(1500)).to_rfc3339();
        let expired = create(app, &farm, json!({"name": "expired", "expiresAtUTC": soon})).await;
        for n in 1..17 {
            create(app, &farm, named(&format!("a{n}"))).await;
        }
        let form = named("concurrent");
        let attempts = (0..8).map(|_| app.post("/v1/service-accounts").by(&farm).json(&form).send());
        let responses = futures_util::future::join_all(attempts).await;
        assert_eq!(responses.iter().filter(|response| response.status == 200).count(), 3);
        for refused in responses.iter().filter(|response| response.status != 200) {
            let body: Value = refused.json();
            assert_eq!((refused.status, &body["body"]["reason"]), (409, &json!("limit_reached")), "{body}");
        }
        create(app, &User::of("other"), named("b")).await;
        testkit::wait_until(async || request_token(app, credentials(&expired)).await.status == 401).await;
        let full = app.post("/v1/service-accounts").by(&farm).json(&form).send().await;
        assert_eq!(full.error(409), "conflict", "expired accounts count");
        app.call("DELETE", &path(&expired)).by(&farm).send().await.ok();
        create(app, &farm, named("b")).await;
    }

    async fn a_replay_lacks_the_secret(backend) {
        let Started { app, .. } = &start(backend).await;
        let farm = User::of("farm");
        let send = async |path: &str, body: &Value| {
            app.post(path).by(&farm).header("idempotency-key", "k").json(body).send().await
        };
        let first = send("/v1/service-accounts", &named("a")).await.ok();
        let replay = send("/v1/service-accounts", &named("a")).await;
        assert_eq!(replay.header("idempotency-replayed"), "true");
        let replay = replay.ok();
        assert_eq!((&replay["id"], replay.get("clientSecret")), (&first["id"], None));
        assert_eq!(send("/v1/service-accounts", &named("b")).await.error(409), "idempotency_key_reused");

        let rotate = format!("{}/rotate-secret", path(&first));
        let rotated = send(&rotate, &json!({})).await.ok();
        assert_ne!(rotated["clientSecret"], first["clientSecret"]);
        let replay = send(&rotate, &json!({})).await.ok();
        assert_eq!((&replay["id"], replay.get("clientSecret")), (&first["id"], None));
        for account in [&first, &rotated] {
            token(app, account).await;
        }
        for account in [&first, &rotated] {
            let secret = account["clientSecret"].as_str().unwrap();
            assert_eq!(stored(app, "idempotency_keys", "CAST(answer AS TEXT)", secret), 0);
        }
        assert_eq!(stored(app, "idempotency_keys", "CAST(answer AS TEXT)", first["id"].as_str().unwrap()), 2);
    }

    async fn only_people_with_an_organisation_manage(backend) {
        let Started { app, .. } = &start(backend).await;
        let farm = User::of("farm");
        let account = create(app, &farm, named("a")).await;
        let post = async |user: &User| app.post("/v1/service-accounts").by(user).json(&named("b")).send().await;
        assert_eq!(post(&User::admin()).await.error(403), "forbidden");
        assert_eq!(post(&User::individual("x")).await.error(403), "forbidden");
        let admin = farm.clone().with_roles(&["admin", "viewer", "weighbridge"]);
        assert_eq!(post(&admin).await.ok()["organisationId"], "farm");
        let rotated = app.post(&format!("{}/rotate-secret", path(&account))).by(&User::admin()).send().await.ok();
        token(app, &rotated).await;

        // Not even its own.
        let own = token(app, &account).await;
        let operations = [
            ("POST", "/v1/service-accounts".to_owned()), ("GET", "/v1/service-accounts".to_owned()), ("GET", path(&account)),
            ("PATCH", path(&account)), ("DELETE", path(&account)), ("POST", format!("{}/rotate-secret", path(&account))),
        ];
        for (method, path) in operations {
            let response = app.call(method, &path).bearer(&own).json(&named("c")).send().await;
            assert_eq!(response.error(403), "forbidden", "{method} {path}");
        }
        app.call("DELETE", &path(&account)).by(&User::admin()).send().await.ok();
        assert_eq!(oauth_error(request_token(app, credentials(&account)).await, 401), "invalid_client");
    }
}
