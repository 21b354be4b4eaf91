//! Revisions of listings: `ETag`, `If-None-Match` and `If-Match`.

use serde_json::json;
use testkit::User;

use crate::lifecycle::{draft, events, patch, read, revision, to};
use crate::sample::{create, full, start};

testkit::on_both! {
    async fn reads_carry_the_revision(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        let (id, secret) = (create(&app, &farm, &full()).await, draft(&app, &farm).await);
        let path = format!("/v1/listings/{id}");
        for method in ["GET", "HEAD"] {
            let reply = app.call(method, &path).by(&other).send().await;
            assert_eq!((reply.status, reply.header("etag")), (200, "\"1\""), "{method}");
            for (known, status) in [("\"1\"", 304), ("W/\"1\"", 304), ("*", 304), ("\"7\", \"1\"", 304), ("\"2\"", 200), ("1", 200)] {
                let reply = app.call(method, &path).by(&other).header("if-none-match", known).send().await;
                assert_eq!((reply.status, reply.header("etag")), (status, "\"1\""), "{method} {known}");
                assert!(status == 200 || reply.bytes.is_empty());
            }
        }
        let hidden = app.get(&format!("/v1/listings/{secret}")).by(&other).header("if-none-match", "*").send().await;
        assert_eq!(hidden.error(403), "forbidden");
    }

    async fn each_change_raises_the_revision(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = draft(&app, &farm).await;
        let edited = patch(&app, &farm, &id, &json!({"description": "x"})).await;
        assert_eq!(edited.header("etag"), "\"2\"");
        for (status, expected) in [("active", 3), ("active", 3), ("sold", 4), ("sold", 4)] {
            to(&app, &farm, &id, status).send().await.ok();
            assert_eq!(revision(&app, &id).await, expected);
        }
        let changed = events(&app, &id).await.last().unwrap()["atUTC"].clone();
        let shown = read(&app, &farm, &id).await["updatedAtUTC"].clone();
        assert!(shown.as_str() <= changed.as_str() && shown.as_str().unwrap()[..16] == changed.as_str().unwrap()[..16]);
        let listed = app.get("/v1/listings?f:status=sold").by(&farm).send().await.ok();
        assert_eq!((&listed[0]["revision"], &listed[0]["updatedAtUTC"]), (&json!(4), &shown));
        app.call("PUT", &format!("/v1/listings/{id}/wishlist")).by(&farm).send().await.ok();
        assert_eq!(revision(&app, &id).await, 4);
    }

    async fn edits_honour_if_match(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        patch(&app, &farm, &id, &json!({"description": "x"})).await.ok();
        let path = format!("/v1/listings/{id}");
        let before = read(&app, &farm, &id).await;
        for known in ["\"1\"", "\"3\"", "W/\"3\"", "2", ""] {
            for members in [json!({"description": "y"}), json!({})] {
                let reply = app.call("PATCH", &path).by(&farm).header("if-match", known).json(&members).send().await;
                assert_eq!(reply.json()["body"]["revision"], 2);
                assert_eq!(reply.error(412), "precondition_failed", "{known}");
            }
        }
        assert_eq!(read(&app, &farm, &id).await, before);
        for (known, text, expected) in [("\"2\"", "y", "\"3\""), ("*", "z", "\"4\""), ("\"1\", \"4\"", "z", "\"4\"")] {
            let members = json!({"description": text});
            let reply = app.call("PATCH", &path).by(&farm).header("if-match", known).json(&members).send().await;
            assert_eq!((reply.status, reply.header("etag")), (200, expected), "{known}");
        }
        assert_eq!(events(&app, &id).await.len(), 4);
    }

    async fn one_of_many_concurrent_edits_of_a_revision_wins(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..12 {
            let members = json!({"properties": {"quantity": n + 100}});
            let call = app.call("PATCH", &format!("/v1/listings/{id}")).by(&farm).header("if-match", "\"1\"");
            calls.spawn(async move { call.json(&members).send().await.status });
        }
        let mut statuses = calls.join_all().await;
        statuses.sort_unstable();
        assert_eq!((statuses[0], &statuses[1..]), (200, &[412; 11][..]));
        assert_eq!((revision(&app, &id).await, events(&app, &id).await.len()), (2, 2));
    }

    async fn concurrent_edits_of_different_members_all_hold(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        let members = [
            json!({"description": "new"}), json!({"tags": ["new"]}), json!({"price": {"type": "poa"}}),
            json!({"properties": {"quantity": 99}}), json!({"properties": {"title": "new"}}), json!({"location": null}),
        ];
        let mut calls = tokio::task::JoinSet::new();
        for members in members {
            let call = app.call("PATCH", &format!("/v1/listings/{id}")).by(&farm).json(&members).send();
            calls.spawn(async move { call.await.status });
        }
        assert_eq!(calls.join_all().await, [200; 6]);
        let listing = read(&app, &farm, &id).await;
        assert_eq!((&listing["description"], &listing["tags"], &listing["price"]["type"]), (&json!("new"), &json!(["new"]), &json!("poa")));
        assert_eq!((&listing["properties"]["quantity"], &listing["properties"]["title"]), (&json!(99), &json!("new")));
        assert_eq!((listing.get("location"), revision(&app, &id).await), (None, 7));
    }
}
