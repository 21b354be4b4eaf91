//! The lifecycle of a listing: its transitions, who may make them, and who sees the listing.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, TestRequest, TestResponse, User};

use crate::sample::{create, full, ids, search, start, with};

const UNKNOWN: &str = "0190f5fe-0000-7000-8000-000000000000";

/// Publishes a listing (`active`), or closes it with a status.
pub fn to(app: &App, user: &User, id: &str, status: &str) -> TestRequest {
    let path = format!("/v1/listings/{id}");
    match status {
        "active" => app.post(&format!("{path}/publish")).by(user),
        closed => app.post(&format!("{path}/close")).by(user).json(&json!({"status": closed})),
    }
}

pub async fn draft(app: &App, user: &User) -> String {
    create(app, user, &with(full(), "/isDraft", json!(true))).await
}

pub async fn read(app: &App, user: &User, id: &str) -> Value {
    app.get(&format!("/v1/listings/{id}")).by(user).send().await.ok()
}

/// Reads a listing as webhooks send it: without what depends on the reader.
pub async fn read_as_sent(app: &App, user: &User, id: &str) -> Value {
    let mut listing = read(app, user, id).await;
    listing.as_object_mut().unwrap().remove("isWishlisted").unwrap();
    listing
}

/// Edits a listing.
pub async fn patch(app: &App, user: &User, id: &str, members: &Value) -> TestResponse {
    app.call("PATCH", &format!("/v1/listings/{id}")).by(user).json(members).send().await
}

/// Returns what a listing becomes by a change after which it is `after`: of the next revision.
pub fn revised(mut before: Value, after: &Value) -> Value {
    before["revision"] = json!(before["revision"].as_i64().unwrap() + 1);
    assert!(after["updatedAtUTC"].as_str() >= before["updatedAtUTC"].as_str(), "{after}");
    before["updatedAtUTC"] = after["updatedAtUTC"].clone();
    before
}

pub async fn revision(app: &App, id: &str) -> i64 {
    let reply = app.get(&format!("/v1/listings/{id}")).by(&User::admin()).send().await;
    let revision: i64 = reply.header("etag").trim_matches('"').parse().unwrap();
    assert_eq!(reply.ok()["revision"], revision);
    revision
}

pub async fn events(app: &App, id: &str) -> Vec<Value> {
    let listed = app.get(&format!("/v1/listings/{id}/events")).by(&User::admin()).send().await.ok();
    listed.as_array().unwrap().clone()
}

/// Returns all statuses that a listing has had, from its events.
pub async fn statuses(app: &App, id: &str) -> Vec<String> {
    events(app, id).await.iter().map(|event| event["to"].as_str().unwrap().to_owned()).collect()
}

testkit::on_both! {
    async fn only_the_transitions_of_the_lifecycle_succeed(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        // Metrics are recorded from the first request for them on.
        app.get("/metrics").send().await;
        let transitions = [
            ("draft", "active"), ("draft", "cancelled"), ("active", "sold"), ("active", "found"), ("active", "cancelled"),
        ];
        for from in ["draft", "active", "sold", "found", "cancelled"] {
            for goal in ["active", "sold", "found", "cancelled"] {
                let id = if from == "draft" { draft(&app, &farm).await } else { create(&app, &farm, &full()).await };
                if !matches!(from, "draft" | "active") {
                    to(&app, &farm, &id, from).send().await.ok();
                }
                let (before, statuses_before) = (read(&app, &farm, &id).await, statuses(&app, &id).await);
                let reply = to(&app, &farm, &id, goal).send().await;
                let (after, statuses_after) = (read(&app, &farm, &id).await, statuses(&app, &id).await);
                if transitions.contains(&(from, goal)) {
                    assert_eq!(reply.ok()["status"], "success");
                    let mut expected = revised(with(before, "/status", json!(goal)), &after);
                    if goal == "active" {
                        expected["publishedAtUTC"] = after["publishedAtUTC"].clone();
                        assert!(after["publishedAtUTC"].is_string());
                    }
                    assert_eq!(after, expected, "{from} {goal}");
                    assert_eq!(statuses_after[..], [&statuses_before[..], &[goal.to_owned()]].concat(), "{from} {goal}");
                    continue;
                }
                if from == goal {
                    assert_eq!(reply.ok()["status"], "success");
                } else {
                    let message = reply.json()["message"].as_str().unwrap().to_owned();
                    assert!(message.contains(from), "{message}");
                    assert_eq!(reply.error(409), "conflict");
                }
                assert_eq!((after, statuses_after), (before, statuses_before), "{from} {goal}");
            }
        }
        let metrics = app.get("/metrics").send().await.text();
        for goal in ["active", "sold", "found", "cancelled"] {
            let counter = format!("drover_listings_changed_total{{to=\"{goal}\"}}");
            assert!(metrics.contains(&counter), "{counter}: {metrics}");
        }
    }

    async fn only_its_organisation_and_admins_can_change_a_listing(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let (secret, public) = (draft(&app, &farm).await, create(&app, &farm, &full()).await);
        for stranger in [User::of("other"), User::individual("user-of-farm")] {
            for id in [&secret, &public] {
                for status in ["active", "sold", "cancelled"] {
                    assert_eq!(to(&app, &stranger, id, status).send().await.error(403), "forbidden");
                }
            }
        }
        to(&app, &farm.clone().with("sub", "colleague"), &secret, "active").send().await.ok();
        to(&app, &User::admin(), &secret, "sold").send().await.ok();
        // 403 precedes 409, and errors of the body precede both.
        assert_eq!(to(&app, &User::of("other"), &secret, "found").send().await.error(403), "forbidden");
        assert_eq!(to(&app, &farm, &secret, "found").send().await.error(409), "conflict");
        for nothing in [UNKNOWN, "nonsense"] {
            for status in ["active", "found"] {
                assert_eq!(to(&app, &farm, nothing, status).send().await.error(404), "not_found");
            }
        }
        for id in [&secret, UNKNOWN] {
            let close = |form: Value| app.post(&format!("/v1/listings/{id}/close")).by(&User::of("other")).json(&form).send();
            assert_eq!(close(json!({})).await.errors(), ["status required"]);
            assert_eq!(close(json!({"status": null})).await.errors(), ["status type"]);
            assert_eq!(close(json!({"status": "active"})).await.errors(), ["status enum"]);
        }
        assert_eq!(statuses(&app, &public).await, ["active"]);
    }

    async fn everybody_finds_a_published_draft(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        let id = draft(&app, &farm).await;
        assert_eq!(app.get(&format!("/v1/listings/{id}")).by(&other).send().await.error(403), "forbidden");
        assert!(search(&app, &other, "").await.is_empty());
        to(&app, &farm, &id, "active").send().await.ok();
        assert!(search(&app, &farm, "f:status=draft").await.is_empty());
        for query in ["", "f:status=active-selling", "f:commodityType=cattle"] {
            assert_eq!(search(&app, &other, query).await, [id.as_str()], "{query}");
        }
        to(&app, &farm, &id, "found").send().await.ok();
        for (query, found) in [("", false), ("f:status=sold", false), ("f:status=found", true)] {
            assert_eq!(!search(&app, &other, query).await.is_empty(), found, "{query}");
        }
        assert_eq!(read(&app, &other, &id).await["status"], "found");
    }

    async fn a_cancelled_draft_stays_visible_to_its_organisation_only(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let (secret, published) = (draft(&app, &farm).await, draft(&app, &farm).await);
        to(&app, &farm, &published, "active").send().await.ok();
        for id in [&secret, &published] {
            app.call("PUT", &format!("/v1/listings/{id}/wishlist")).by(&farm).send().await.ok();
            to(&app, &farm, id, "cancelled").send().await.ok();
        }
        let elsewhere = User::of("other").with("sub", "user-of-farm");
        let report = json!({"reason": "other", "message": "x"});
        for stranger in [User::of("other"), elsewhere, User::individual("user-of-farm")] {
            for call in [
                app.get(&format!("/v1/listings/{secret}")).by(&stranger),
                app.call("PUT", &format!("/v1/listings/{secret}/wishlist")).by(&stranger),
                app.call("DELETE", &format!("/v1/listings/{secret}/wishlist")).by(&stranger),
                app.post(&format!("/v1/listings/{secret}/report")).by(&stranger).json(&report),
                to(&app, &stranger, &secret, "cancelled"),
            ] {
                assert_eq!(call.send().await.error(403), "forbidden");
            }
            for query in ["", "&f:organisationId=farm", "&f:commodityBreed=hereford", "&sortBy=price", "&count=true"] {
                let path = format!("/v1/listings?f:status=cancelled{query}");
                let reply = app.get(&path).by(&stranger).send().await;
                assert!(query != "&count=true" || reply.header("x-total-count") == "1", "{path}");
                assert_eq!(ids(&reply.ok()), [published.as_str()], "{path}");
                let csv = app.get(&format!("{path}&format=CSV")).by(&stranger).send().await.text();
                assert!(csv.contains(&published) && !csv.contains(&secret), "{path} {csv}");
                let counts = app.get(&format!("{path}&docs=false")).by(&stranger).send().await.ok();
                assert_eq!(counts["total"], 1, "{path}");
            }
            assert!(!search(&app, &stranger, "isWishlisted=true").await.contains(&secret));
        }
        assert_eq!(read(&app, &User::of("other"), &published).await["status"], "cancelled");
        for reader in [&farm, &farm.clone().with("sub", "colleague"), &User::admin()] {
            assert_eq!(read(&app, reader, &secret).await["status"], "cancelled");
            assert_eq!(search(&app, reader, "f:status=cancelled").await, [published.as_str(), &secret]);
        }
        assert_eq!(search(&app, &farm, "isWishlisted=true").await.len(), 2);
    }

    async fn listings_of_a_long_wishlist_are_marked(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let unwanted = create(&app, &farm, &full()).await;
        for _ in 0..31 {
            let id = create(&app, &farm, &full()).await;
            app.call("PUT", &format!("/v1/listings/{id}/wishlist")).by(&farm).send().await.ok();
        }
        let found = app.get("/v1/listings?limit=40").by(&farm).send().await.ok();
        for listing in found.as_array().unwrap() {
            assert_eq!(listing["isWishlisted"], listing["id"] != unwanted);
        }
        assert_eq!(search(&app, &farm, "isWishlisted=true&limit=40").await.len(), 31);
    }

    async fn one_of_many_concurrent_closings_wins(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..12 {
            let reason = ["sold", "found", "cancelled"][n % 3];
            let call = to(&app, &farm, &id, reason).send();
            calls.spawn(async move { (reason, call.await.status) });
        }
        let replies = calls.join_all().await;
        let stored = read(&app, &farm, &id).await["status"].clone();
        for (reason, status) in &replies {
            assert_eq!(*status, if stored == *reason { 200 } else { 409 }, "{stored} {replies:?}");
        }
        assert_eq!(json!(statuses(&app, &id).await), json!(["active", stored]));
    }
}

#[test]
fn one_of_two_concurrent_closings_on_postgres_wins() {
    testkit::block_on(async {
        let first = start(Backend::Postgres).await;
        let second = App::start_replica::<Livestock>(&first, Settings::default()).await;
        let farm = User::of("farm");
        for reasons in [["sold", "found"], ["cancelled", "sold"], ["found", "found"]].repeat(10) {
            let id = create(&first, &farm, &full()).await;
            let one = to(&first, &farm, &id, reasons[0]).send();
            let two = to(&second, &farm, &id, reasons[1]).send();
            let (one, two) = tokio::join!(one, two);
            let stored = read(&first, &farm, &id).await["status"].clone();
            for (reason, reply) in reasons.iter().zip([one, two]) {
                assert_eq!(reply.status, if stored == *reason { 200 } else { 409 }, "{reasons:?} {stored}");
            }
            let listed = events(&second, &id).await;
            assert_eq!((listed.len(), &listed[1]["to"], &listed[1]["reason"]), (2, &stored, &stored));
        }
    });
}
