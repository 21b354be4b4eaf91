//! The queue of reports: its order and filters, and what resolving a report does.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, TestRequest, User, WebhookReceiver};
use wiremock::ResponseTemplate;

use crate::lifecycle::{draft, events, read, to};
use crate::sample::{create, full, search, start};

const UNKNOWN: &str = "0190f5fe-0000-7000-8000-000000000000";

/// Reports a listing as a user and returns the id of the report.
async fn report(app: &App, user: &str, listing: &str, reason: &str) -> String {
    let form = json!({"reason": reason, "message": format!("by {user}")});
    app.post(&format!("/v1/listings/{listing}/report"))
        .by(&User::individual(user))
        .json(&form)
        .send()
        .await
        .ok();
    let listed = app.get(&format!("/v1/listings/{listing}/reports")).by(&User::admin()).send().await.ok();
    let reports = listed.as_array().unwrap();
    reports.iter().find(|report| report["userId"] == user).unwrap()["id"].as_str().unwrap().to_owned()
}

fn resolve(app: &App, id: &str, outcome: &str) -> TestRequest {
    let form = json!({"outcome": outcome, "note": format!("note on {outcome}")});
    app.post(&format!("/v1/reports/{id}/resolve")).by(&User::admin()).json(&form)
}

async fn queue(app: &App, query: &str) -> Vec<Value> {
    let listed = app.get(&format!("/v1/reports?{query}")).by(&User::admin()).send().await.ok();
    listed.as_array().unwrap().clone()
}

async fn users(app: &App, query: &str) -> Vec<String> {
    queue(app, query).await.iter().map(|report| report["userId"].as_str().unwrap().to_owned()).collect()
}

testkit::on_both! {
    async fn the_queue_has_all_reports_oldest_first(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        assert_eq!(queue(&app, "").await, Vec::<Value>::new());
        let (one, two) = (create(&app, &farm, &full()).await, create(&app, &User::of("other"), &full()).await);
        let mut ids = Vec::new();
        for (user, listing, reason) in [
            ("ann", &one, "suspicious"), ("ben", &two, "misleading"), ("cat", &one, "other"), ("dan", &two, "suspicious"),
            ("eve", &one, "suspicious"),
        ] {
            ids.push(report(&app, user, listing, reason).await);
        }
        resolve(&app, &ids[0], "dismissed").send().await.ok();
        resolve(&app, &ids[1], "dismissed").send().await.ok();
        for (query, expected) in [
            ("", &["ann", "ben", "cat", "dan", "eve"][..]),
            ("f:status=", &["ann", "ben", "cat", "dan", "eve"]),
            ("f:status=open", &["cat", "dan", "eve"]),
            ("f:status=resolved", &["ann", "ben"]),
            ("f:reason=suspicious", &["ann", "dan", "eve"]),
            ("f:status=open&f:reason=suspicious", &["dan", "eve"]),
            ("f:status=resolved&f:reason=other", &[]),
            ("limit=2&offset=1", &["ben", "cat"]),
            ("f:organisationId=farm", &["ann", "cat", "eve"]),
            ("f:organisationId=other&f:status=open", &["dan"]),
            ("f:organisationId=nobody", &[]),
            ("sortDesc=true", &["eve", "dan", "cat", "ben", "ann"]),
            ("f:organisationId=farm&f:reason=suspicious&sortDesc=true", &["eve", "ann"]),
        ] {
            assert_eq!(users(&app, query).await, expected, "{query}");
        }
        let listed = queue(&app, "").await;
        assert_eq!(listed[0], json!({
            "id": ids[0], "listingId": one, "userId": "ann", "reason": "suspicious", "message": "by ann", "status": "resolved",
            "createdAtUTC": listed[0]["createdAtUTC"], "outcome": "dismissed", "note": "note on dismissed",
        }));
        assert_eq!(listed[2], json!({
            "id": ids[2], "listingId": one, "userId": "cat", "reason": "other", "message": "by cat", "status": "open",
            "createdAtUTC": listed[2]["createdAtUTC"],
        }));
        let of_listing = app.get(&format!("/v1/listings/{one}/reports")).by(&User::admin()).send().await.ok();
        assert_eq!(of_listing, json!([listed[4], listed[2], listed[0]]), "the same members, newest first");

        let first = app.get("/v1/reports?limit=2&count=true&f:status=open").by(&User::admin()).send().await;
        assert_eq!(first.header("x-total-count"), "3");
        let next = first.link("next").unwrap();
        assert_eq!(first.ok().as_array().unwrap().len(), 2);
        let newest = "/v1/reports?limit=2&count=true&f:organisationId=farm&sortDesc=true";
        let newest = app.get(newest).by(&User::admin()).send().await;
        assert_eq!(newest.header("x-total-count"), "3");
        let last = app.get(&newest.link("next").unwrap()).by(&User::admin()).send().await.ok();
        assert_eq!((&last[0]["userId"], last.as_array().unwrap().len()), (&json!("ann"), 1));
        // A report that is resolved meanwhile shifts no page.
        resolve(&app, &ids[2], "dismissed").send().await.ok();
        let second = app.get(&next).by(&User::admin()).send().await;
        assert_eq!(second.link("next"), None);
        assert_eq!(second.ok().as_array().unwrap().iter().map(|report| &report["userId"]).collect::<Vec<_>>(), ["eve"]);
        for (query, error) in [
            ("sortDesc=true&cursor=x", "cursor format"), ("f:status=closed", "f:status enum"), ("f:reason=dull", "f:reason enum"), ("limit=101", "limit range"), ("cursor=x", "cursor format"),
        ] {
            assert_eq!(app.get(&format!("/v1/reports?{query}")).by(&User::admin()).send().await.errors(), [error]);
        }
        for query in ["f:status=closed", "f:organisationId=farm"] {
            assert_eq!(app.get(&format!("/v1/reports?{query}")).by(&farm).send().await.error(403), "forbidden");
        }
    }

    async fn a_dismissed_report_leaves_the_listing_as_it_is(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        let (ann, ben) = (report(&app, "ann", &id, "other").await, report(&app, "ben", &id, "other").await);
        let (shown, history) = (read(&app, &farm, &id).await, events(&app, &id).await);
        let reply = resolve(&app, &ann, "dismissed").send().await.ok();
        assert_eq!(reply, json!({"status": "success", "message": "The report is resolved: dismissed."}));
        assert_eq!((read(&app, &farm, &id).await, events(&app, &id).await), (shown, history));
        // The same outcome again succeeds and changes nothing.
        let again = app.post(&format!("/v1/reports/{ann}/resolve")).by(&User::admin()).json(&json!({"outcome": "dismissed"}));
        again.send().await.ok();
        assert_eq!(resolve(&app, &ann, "listing_removed").send().await.error(409), "conflict");
        assert_eq!(users(&app, "f:status=open").await, ["ben"]);
        assert_eq!(queue(&app, "f:status=resolved").await[0]["note"], "note on dismissed");
        let without = app.post(&format!("/v1/reports/{ben}/resolve")).by(&User::admin()).json(&json!({"outcome": "dismissed", "note": " "}));
        without.send().await.ok();
        assert_eq!(queue(&app, "").await[1].get("note"), None);
    }

    async fn a_removed_listing_is_cancelled_and_its_reports_are_resolved(backend) {
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), webhook_allow_private: true, ..Settings::default() };
        let app = App::start::<Livestock>(backend, settings).await;
        let (farm, receiver) = (User::of("farm"), WebhookReceiver::start(ResponseTemplate::new(200)).await);
        let form = json!({"url": receiver.url(), "events": ["listing.closed"]});
        app.post("/v1/webhooks").by(&farm).json(&form).send().await.ok();
        let (id, other) = (create(&app, &farm, &full()).await, create(&app, &farm, &full()).await);
        let (ann, ben) = (report(&app, "ann", &id, "other").await, report(&app, "ben", &id, "suspicious").await);
        let (cat, _) = (report(&app, "cat", &id, "other").await, report(&app, "dan", &other, "other").await);
        resolve(&app, &ann, "dismissed").send().await.ok();
        let facets = || async { app.get("/v1/listings?docs=false").by(&farm).send().await.ok()["total"].clone() };
        assert_eq!(facets().await, 2);
        for _ in 0..2 {
            resolve(&app, &ben, "listing_removed").send().await.ok();
            assert_eq!(resolve(&app, &ben, "dismissed").send().await.error(409), "conflict");
        }
        // Resolved together with it.
        resolve(&app, &cat, "listing_removed").send().await.ok();
        let outcomes: Vec<_> = queue(&app, "f:status=resolved").await.into_iter().map(|report| {
            let text = |name: &str| report[name].as_str().unwrap().to_owned();
            [text("userId"), text("outcome"), text("note")]
        }).collect();
        assert_eq!(outcomes, [
            ["ann", "dismissed", "note on dismissed"],
            ["ben", "listing_removed", "note on listing_removed"],
            ["cat", "listing_removed", "note on listing_removed"],
        ]);
        assert_eq!(users(&app, "f:status=open").await, ["dan"]);
        assert_eq!(read(&app, &farm, &id).await["status"], "cancelled");
        assert_eq!(read(&app, &farm, &other).await["status"], "active");
        assert_eq!((search(&app, &farm, "").await, facets().await), (vec![other], json!(1)));
        let history = events(&app, &id).await;
        assert_eq!(history.len(), 2);
        let last = &history[1];
        assert_eq!(
            (&last["from"], &last["to"], &last["reason"], &last["userId"]),
            (&json!("active"), &json!("cancelled"), &json!("moderation"), &json!("admin"))
        );
        let message: Value = serde_json::from_slice(&receiver.wait_for(1).await[0].body).unwrap();
        assert_eq!(message["type"], "listing.closed");
        assert_eq!((&message["data"]["listing"]["id"], &message["data"]["listing"]["status"]), (&json!(id), &json!("cancelled")));
        assert_eq!(receiver.requests().await.len(), 1);
    }

    async fn a_closed_listing_only_has_its_reports_resolved(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        for status in ["sold", "found", "cancelled"] {
            let id = create(&app, &farm, &full()).await;
            let (ann, _) = (report(&app, "ann", &id, "other").await, report(&app, "ben", &id, "other").await);
            to(&app, &farm, &id, status).send().await.ok();
            let (shown, history) = (read(&app, &farm, &id).await, events(&app, &id).await);
            resolve(&app, &ann, "listing_removed").send().await.ok();
            assert_eq!((read(&app, &farm, &id).await, events(&app, &id).await), (shown, history));
            assert_eq!(users(&app, "f:status=open").await, Vec::<String>::new());
        }
        // A draft, which only an administrator of another organisation can report, becomes a cancelled draft.
        let id = draft(&app, &farm).await;
        let form = json!({"reason": "other", "message": null});
        app.post(&format!("/v1/listings/{id}/report")).by(&User::admin()).json(&form).send().await.ok();
        let report = queue(&app, "f:status=open").await[0]["id"].as_str().unwrap().to_owned();
        resolve(&app, &report, "listing_removed").send().await.ok();
        assert_eq!(read(&app, &farm, &id).await["status"], "cancelled");
        assert_eq!(app.get(&format!("/v1/listings/{id}")).by(&User::of("other")).send().await.error(403), "forbidden");
    }

    async fn invalid_decisions_are_refused(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        let ann = report(&app, "ann", &id, "other").await;
        for (form, errors) in [
            (json!({}), vec!["outcome required"]),
            (json!({"outcome": "sold", "note": 5}), vec!["note type", "outcome enum"]),
            (json!({"outcome": "dismissed", "note": "x".repeat(10_001)}), vec!["note length"]),
            (json!({"outcome": "dismissed", "note": "a\u{0}b"}), vec!["note format"]),
        ] {
            for id in [&ann, UNKNOWN] {
                let reply = app.post(&format!("/v1/reports/{id}/resolve")).by(&User::admin()).json(&form).send().await;
                assert_eq!(reply.errors(), errors);
            }
        }
        for nothing in [UNKNOWN, "nonsense", &id] {
            assert_eq!(resolve(&app, nothing, "dismissed").send().await.error(404), "not_found");
        }
        // The role is checked before the body and the report.
        for nothing in [&ann, UNKNOWN] {
            let reply = app.post(&format!("/v1/reports/{nothing}/resolve")).by(&farm).json(&json!({})).send().await;
            assert_eq!(reply.error(403), "forbidden");
        }
        assert_eq!(users(&app, "f:status=open").await, ["ann"]);
    }

    async fn a_repeat_with_the_same_key_changes_nothing(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        let ann = report(&app, "ann", &id, "other").await;
        let call = || resolve(&app, &ann, "listing_removed").header("idempotency-key", "k").send();
        let (first, again) = (call().await, call().await);
        assert_eq!(again.header("idempotency-replayed"), "true");
        assert_eq!(again.ok(), first.ok());
        assert_eq!(events(&app, &id).await.len(), 2);
    }
}

/// Of two different decisions at the same time, on two replicas, one succeeds.
#[test]
fn concurrent_decisions_on_postgres_do_not_mix() {
    testkit::block_on(async {
        let (first, farm) = (start(Backend::Postgres).await, User::of("farm"));
        let second = App::start_replica::<Livestock>(&first, Settings::default()).await;
        for _ in 0..10 {
            let id = create(&first, &farm, &full()).await;
            let ann = report(&first, "ann", &id, "other").await;
            let (removed, dismissed) = tokio::join!(
                resolve(&first, &ann, "listing_removed").send(),
                resolve(&second, &ann, "dismissed").send(),
            );
            let mut statuses = [removed.status, dismissed.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 409]);
            let is_removed = read(&first, &farm, &id).await["status"] == "cancelled";
            assert_eq!(is_removed, removed.status == 200);
        }
    });
}
