//! Saving, reading, editing and deleting searches.

use serde_json::json;
use testkit::User;

use super::save;
use crate::sample::start;

const UNKNOWN: &str = "/v1/saved-searches/0190f5fe-0000-7000-8000-000000000000";

testkit::on_both! {
    async fn a_saved_search_is_managed(backend) {
        let (app, ann) = (start(backend).await, User::of("farm").with("sub", "ann"));
        let form = json!({"name": " Herefords ", "notify": false,
            "parameters": {"f:commodityBreed": ["Hereford", "Cross"], "minAge": "6", "f:organisationId": " "}});
        let created = app.post("/v1/saved-searches").by(&ann).json(&form).header("idempotency-key", "k").send().await;
        assert_eq!(created.header("etag"), "\"1\"");
        let location = created.header("location").to_owned();
        let saved = created.ok();
        let path = format!("/v1/saved-searches/{}", saved["id"].as_str().unwrap());
        assert_eq!(location, format!("{}{path}", app.url));
        assert_eq!(saved, json!({
            "id": saved["id"], "name": "Herefords", "notify": false, "newMatches": 0, "createdAtUTC": saved["createdAtUTC"],
            "revision": 1, "updatedAtUTC": saved["createdAtUTC"],
            "parameters": {"f:commodityBreed": ["Hereford", "Cross"], "minAge": "6"},
        }));
        let repeated = app.post("/v1/saved-searches").by(&ann).json(&form).header("idempotency-key", "k").send().await;
        assert_eq!((repeated.header("idempotency-replayed"), repeated.json()), ("true", saved.clone()));

        let read = app.get(&path).by(&ann).send().await;
        assert_eq!((read.header("etag"), read.json()), ("\"1\"", saved.clone()));
        assert_eq!(app.get(&path).by(&ann).header("if-none-match", "\"1\"").send().await.status, 304);
        assert_eq!(app.get("/v1/saved-searches").by(&ann).send().await.ok(), json!([saved]));
        let stale = app.call("DELETE", &path).by(&ann).header("if-match", "\"2\"").send().await;
        assert_eq!(stale.json()["body"]["revision"], 1);
        assert_eq!(stale.error(412), "precondition_failed");
        app.call("DELETE", &path).by(&ann).header("if-match", "W/\"1\"").send().await.ok();
        for method in ["GET", "PATCH", "DELETE"] {
            let reply = app.call(method, &path).by(&ann).json(&json!({})).send().await;
            assert_eq!(reply.error(404), "not_found", "{method}");
        }
        assert_eq!(app.get("/v1/saved-searches").by(&ann).send().await.ok(), json!([]));
    }

    async fn a_merge_patch_edits_parameters_too(backend) {
        let (app, ann) = (start(backend).await, User::individual("ann"));
        let path = save(&app, &ann, json!({"minAge": "6", "f:commodityType": "cattle"}), false).await;
        let patch = async |body: serde_json::Value, if_match: &str| {
            let request = app.call("PATCH", &path).by(&ann).body("application/merge-patch+json", body.to_string());
            let request = if if_match.is_empty() { request } else { request.header("if-match", if_match) };
            request.send().await
        };
        let reply = patch(json!({"parameters": {"minAge": null, "maxAge": "24"}, "notify": true}), "\"1\"").await;
        assert_eq!(reply.header("etag"), "\"2\"");
        let edited = reply.ok();
        assert_eq!(edited["revision"], 2);
        assert!(edited["updatedAtUTC"].as_str() > edited["createdAtUTC"].as_str(), "{edited}");
        assert_eq!(edited["parameters"], json!({"f:commodityType": "cattle", "maxAge": "24"}));
        assert_eq!((&edited["notify"], &edited["name"]), (&json!(true), &json!("mine")));
        assert_eq!(app.get(&path).by(&ann).send().await.ok(), edited);
        // A patch that changes nothing succeeds.
        for nothing in [json!({}), json!({"name": "mine"}), json!({"parameters": {"maxAge": "24", "minAge": ""}, "other": 5})] {
            let reply = patch(nothing.clone(), "").await;
            assert_eq!((reply.header("etag"), reply.json()), ("\"2\"", edited.clone()), "{nothing}");
        }
        let stale = patch(json!({"name": "other"}), "\"1\"").await;
        assert_eq!(stale.json()["body"]["revision"], 2);
        assert_eq!(stale.error(412), "precondition_failed");
        let errors = patch(json!({"id": "x", "newMatches": 0, "createdAtUTC": null, "revision": 1, "updatedAtUTC": 1, "warnings": [], "name": null, "parameters": null, "notify": null}), "").await;
        assert_eq!(errors.errors(), ["createdAtUTC inconsistent", "id inconsistent", "name required", "newMatches inconsistent",
            "notify required", "parameters required", "revision inconsistent", "updatedAtUTC inconsistent",
            "warnings inconsistent"]);
        // The parameters are valid each, but not together.
        let errors = patch(json!({"parameters": {"latitude": "52"}}), "\"1\"").await.errors();
        assert_eq!(errors, ["parameters.longitude required"]);
        let errors = patch(json!({"parameters": {"maxAge": "old", "limit": "5", "minAge": 5}, "name": ""}), "").await.errors();
        assert_eq!(errors, ["name length", "parameters.limit inconsistent", "parameters.maxAge type", "parameters.minAge type"]);
        let errors = patch(json!({"parameters": {"minAge": ["1", "2"], "f:commodityBreed": ["Texel", "Suffolk"]}}), "").await.errors();
        assert_eq!(errors, ["parameters.minAge type"], "the search takes one value");
        for other in [json!([]), json!("x"), json!(null)] {
            assert_eq!(patch(other, "").await.error(400), "validation_failed");
        }
        assert_eq!(app.get(&path).by(&ann).send().await.ok(), edited);
    }

    async fn warnings_say_why_notify_has_no_effect(backend) {
        let app = start(backend).await;
        let (member, individual) = (User::of("farm"), User::individual("ann"));
        for (user, notify, parameters, expected) in [
            (&member, true, json!({"f:status": "sold"}), &["never_matches"][..]),
            (&member, true, json!({"f:status": "draft"}), &["never_matches"]),
            (&member, true, json!({"f:status": ["active-selling"]}), &[]),
            (&member, true, json!({}), &[]),
            (&member, false, json!({"f:status": "sold"}), &[]),
            (&individual, true, json!({"f:status": "found"}), &["never_matches", "no_webhook"]),
            (&individual, true, json!({}), &["no_webhook"]),
            (&individual, false, json!({}), &[]),
        ] {
            let codes = |search: &serde_json::Value| {
                let warnings = search["warnings"].as_array().cloned().unwrap_or_default();
                warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
            };
            let form = json!({"name": "x", "parameters": parameters, "notify": notify});
            let saved = app.post("/v1/saved-searches").by(user).json(&form).send().await.ok();
            assert_eq!(codes(&saved), expected, "{form}");
            let path = format!("/v1/saved-searches/{}", saved["id"].as_str().unwrap());
            assert_eq!(app.get(&path).by(user).send().await.ok(), saved);
            let patch = json!({"notify": true, "parameters": {"f:status": "cancelled"}});
            let edited = app.call("PATCH", &path).by(user).json(&patch).send().await.ok();
            assert_eq!(codes(&edited)[0], "never_matches");
            app.call("DELETE", &path).by(user).send().await.ok();
        }
    }

    async fn only_the_user_who_saved_a_search_has_it(backend) {
        let app = start(backend).await;
        let ann = User::of("farm").with("sub", "ann");
        let path = save(&app, &ann, json!({}), true).await;
        // The organisation does not matter.
        for own in [&ann, &User::individual("ann"), &User::of("other").with("sub", "ann")] {
            app.get(&path).by(own).send().await.ok();
            assert_eq!(app.get("/v1/saved-searches").by(own).send().await.ok().as_array().unwrap().len(), 1);
        }
        for other in [User::of("farm"), User::individual("bob"), User::admin()] {
            for (method, path) in [("GET", path.clone()), ("GET", format!("{path}/listings")), ("PATCH", path.clone()), ("DELETE", path.clone())] {
                let reply = app.call(method, &path).by(&other).json(&json!({"name": "taken"})).send().await;
                assert_eq!(reply.error(403), "forbidden", "{method} {path}");
            }
            assert_eq!(app.get("/v1/saved-searches").by(&other).send().await.ok(), json!([]));
            let unknown = app.call("PATCH", UNKNOWN).by(&other).json(&json!({"name": "taken"})).send().await;
            assert_eq!(unknown.error(404), "not_found");
        }
        // Errors of the body precede 403.
        let reply = app.call("PATCH", &path).by(&User::admin()).json(&json!({"notify": "yes"})).send().await;
        assert_eq!(reply.errors(), ["notify type"]);
    }

    async fn lists_are_paged_newest_first(backend) {
        let (app, ann) = (start(backend).await, User::individual("ann"));
        let mut ids = Vec::new();
        for _ in 0..5 {
            ids.insert(0, save(&app, &ann, json!({}), false).await.rsplit('/').next().unwrap().to_owned());
        }
        save(&app, &User::individual("bob"), json!({}), false).await;
        let mut seen = Vec::new();
        for page in app.pages(&ann, "/v1/saved-searches?limit=2&count=true").await {
            assert_eq!(page.header("x-total-count"), "5");
            seen.extend(crate::sample::ids(&page.ok()));
        }
        assert_eq!(seen, ids);
        let page = app.get("/v1/saved-searches?offset=3&limit=100").by(&ann).send().await;
        assert_eq!(crate::sample::ids(&page.ok()), ids[3..]);
    }
}
