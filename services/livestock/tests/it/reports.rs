//! Reports: once per user and listing, readable for moderators only.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, TestRequest, User};

use crate::lifecycle::{draft, read, to};
use crate::sample::{create, full, start};

const UNKNOWN: &str = "0190f5fe-0000-7000-8000-000000000000";

fn report(app: &App, user: &User, id: &str, reason: &str) -> TestRequest {
    app.post(&format!("/v1/listings/{id}/report")).by(user).json(&json!({"reason": reason, "message": null}))
}

async fn reports(app: &App, id: &str) -> Vec<Value> {
    let listed = app.get(&format!("/v1/listings/{id}/reports")).by(&User::admin()).send().await.ok();
    listed.as_array().unwrap().clone()
}

testkit::on_both! {
    async fn only_moderators_read_reports(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        // Metrics are recorded from the first request for them on.
        app.get("/metrics").send().await;
        let (id, unreported) = (create(&app, &farm, &full()).await, create(&app, &farm, &full()).await);
        let shown = read(&app, &farm, &id).await;
        let form = json!({"reason": "other", "message": "The photographs\nare mine."});
        let response = app.post(&format!("/v1/listings/{id}/report")).by(&User::of("other")).json(&form).send().await.ok();
        assert_eq!(response, json!({"message": "The report is stored; thank you.", "status": "success"}));
        report(&app, &User::individual("ann"), &id, "suspicious").send().await.ok();
        let blank = json!({"reason": "misleading", "message": " "});
        app.post(&format!("/v1/listings/{id}/report")).by(&User::admin()).json(&blank).send().await.ok();

        let mut listed = reports(&app, &id).await;
        let times: Vec<_> = listed.iter_mut().map(|r| r.as_object_mut().unwrap().remove("createdAtUTC").unwrap()).collect();
        assert!(times.is_sorted_by(|a, b| a.as_str() >= b.as_str()), "newest first: {times:?}");
        let ids: Vec<_> = listed.iter_mut().map(|r| r.as_object_mut().unwrap().remove("id").unwrap()).collect();
        assert!(ids.iter().all(|id| id.as_str().is_some_and(|id| id.len() == 36)), "{ids:?}");
        let open = |user: &str, reason: &str| json!({"listingId": id, "userId": user, "reason": reason, "status": "open"});
        let mut by_other = open("user-of-other", "other");
        by_other["message"] = json!("The photographs\nare mine.");
        assert_eq!(listed, [open("admin", "misleading"), open("ann", "suspicious"), by_other]);
        assert_eq!(reports(&app, &unreported).await, Vec::<Value>::new());
        // The listing does not show them, and its owner may not read them.
        assert_eq!(read(&app, &farm, &id).await, shown);
        for anybody in [farm, User::of("other"), User::individual("ann")] {
            let path = format!("/v1/listings/{id}/reports");
            assert_eq!(app.get(&path).by(&anybody).send().await.error(403), "forbidden");
        }
        let metrics = app.get("/metrics").send().await.text();
        for reason in ["misleading", "suspicious", "other"] {
            let counter = format!("drover_listing_reports_total{{reason=\"{reason}\"}}");
            assert!(metrics.contains(&counter), "{counter}: {metrics}");
        }
    }

    async fn rejects_invalid_and_repeated_reports(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        let (id, secret) = (create(&app, &farm, &full()).await, draft(&app, &farm).await);
        for (form, errors) in [
            (json!({}), vec!["message required", "reason required"]),
            (json!({"reason": "dull", "message": 5}), vec!["message type", "reason enum"]),
            (json!({"reason": "other", "message": "x".repeat(10_001)}), vec!["message length"]),
            (json!({"reason": "other", "message": "a\u{0}b"}), vec!["message format"]),
        ] {
            for id in [&id, &secret, UNKNOWN] {
                let reply = app.post(&format!("/v1/listings/{id}/report")).by(&other).json(&form).send().await;
                assert_eq!(reply.errors(), errors);
            }
        }
        for nothing in [UNKNOWN, "nonsense"] {
            assert_eq!(report(&app, &other, nothing, "other").send().await.error(404), "not_found");
            let listed = app.get(&format!("/v1/listings/{nothing}/reports")).by(&User::admin()).send().await;
            assert_eq!(listed.error(404), "not_found");
        }
        assert_eq!(report(&app, &other, &secret, "other").send().await.error(403), "forbidden");
        for own in [&id, &secret] {
            let colleague = farm.clone().with("sub", "colleague");
            assert_eq!(report(&app, &colleague, own, "other").send().await.error(409), "conflict");
        }
        report(&app, &other, &id, "other").send().await.ok();
        // A member of two organisations is one user. A closed listing can be reported.
        let elsewhere = User::of("third").with("sub", "user-of-other");
        assert_eq!(report(&app, &elsewhere, &id, "misleading").send().await.error(409), "conflict");
        to(&app, &farm, &id, "sold").send().await.ok();
        report(&app, &User::individual("late"), &id, "other").send().await.ok();
        assert_eq!(reports(&app, &id).await.len(), 2);
        assert_eq!(reports(&app, &secret).await.len(), 0);
    }

    async fn concurrent_reports_are_stored_once_per_user(backend) {
        let app = start(backend).await;
        let id = create(&app, &User::of("farm"), &full()).await;
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..24 {
            let user = User::individual(&format!("user-{}", n % 8));
            calls.spawn(report(&app, &user, &id, "suspicious").send());
        }
        let mut replies: Vec<_> = calls.join_all().await.iter().map(|reply| reply.status).collect();
        replies.sort_unstable();
        assert_eq!(replies, [[200; 8].as_slice(), &[409; 16]].concat());
        assert_eq!(reports(&app, &id).await.len(), 8);
    }
}

#[test]
fn one_of_two_concurrent_reports_on_postgres_is_stored() {
    testkit::block_on(async {
        let first = start(Backend::Postgres).await;
        let second = App::start_replica::<Livestock>(&first, Settings::default()).await;
        let id = create(&first, &User::of("farm"), &full()).await;
        for n in 0..20 {
            let user = User::individual(&format!("user-{n}"));
            let one = report(&first, &user, &id, "misleading").send();
            let two = report(&second, &user, &id, "other").send();
            let (one, two) = tokio::join!(one, two);
            let mut statuses = [one.status, two.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 409]);
        }
        assert_eq!(reports(&second, &id).await.len(), 20);
    });
}
