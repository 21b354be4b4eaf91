//! The events of listings: complete, paged, append-only.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use testkit::{Backend, TestResponse, User};

use crate::lifecycle::{draft, events, patch, to};
use crate::sample::{create, full, start};

testkit::on_both! {
    async fn every_change_is_an_event(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = draft(&app, &farm).await;
        create(&app, &farm, &full()).await;
        patch(&app, &farm, &id, &json!({"description": "Quiet."})).await.ok();
        to(&app, &farm.clone().with("sub", "colleague"), &id, "active").send().await.ok();
        patch(&app, &farm, &id, &json!({"price": {"type": "poa", "minPrice": null}, "tags": []})).await.ok();
        to(&app, &User::admin(), &id, "cancelled").send().await.ok();
        let mut listed = events(&app, &id).await;
        let mut take = |name: &str| -> Vec<Value> {
            listed.iter_mut().map(|event| event.as_object_mut().unwrap().remove(name).unwrap()).collect()
        };
        let (times, ids) = (take("atUTC"), take("id"));
        assert!(times.is_sorted_by(|a, b| a.as_str() <= b.as_str()), "{times:?}");
        assert!(times.iter().all(|at| at.as_str().is_some_and(|at| at.len() == 24 && at.ends_with('Z'))), "{times:?}");
        let distinct: BTreeSet<_> = ids.iter().map(|id| id.as_str().filter(|id| id.len() == 36).unwrap()).collect();
        assert_eq!(distinct.len(), 5);
        let event = |kind: &str, user: &User| json!({
            "type": kind, "userId": user.claims["sub"], "userName": user.claims["name"], "organisationId": "farm",
        });
        let of = |mut event: Value, more: Value| {
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event
        };
        let price = full()["price"].clone();
        let changed = json!({"type": "poa"});
        let mut closed = event("closed", &User::admin());
        closed.as_object_mut().unwrap().remove("organisationId");
        assert_eq!(listed, [
            of(event("created", &farm), json!({"to": "draft"})),
            of(event("updated", &farm), json!({"from": "draft", "to": "draft", "changes": {
                "description": {"from": full()["description"], "to": "Quiet."},
            }})),
            of(event("published", &farm.clone().with("sub", "colleague")), json!({"from": "draft", "to": "active"})),
            of(event("updated", &farm), json!({"from": "active", "to": "active", "changes": {
                "price": {"from": price, "to": changed}, "tags": {"from": ["store", "hereford"], "to": []},
            }})),
            of(closed, json!({"from": "active", "to": "cancelled", "reason": "cancelled"})),
        ]);
    }

    async fn histories_are_paged_and_private(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        for n in 1..=4 {
            patch(&app, &farm, &id, &json!({"properties": {"quantity": n}})).await.ok();
        }
        create(&app, &farm, &full()).await;
        let path = format!("/v1/listings/{id}/events");
        let all = events(&app, &id).await;
        assert_eq!(all.len(), 5);
        for limit in 1..=6_usize {
            for offset in 0..=6_usize {
                let reply = app.get(&format!("{path}?limit={limit}&offset={offset}&count=true")).by(&farm).send().await;
                assert_eq!(reply.header("x-total-count"), "5");
                let start = offset.min(5);
                assert_eq!(reply.ok(), json!(all[start..(start + limit).min(5)]), "{limit} {offset}");
            }
            let pages = app.pages(&farm, &format!("{path}?limit={limit}")).await;
            assert_eq!(pages.into_iter().flat_map(TestResponse::entries).collect::<Vec<_>>(), all, "{limit}");
        }
        for query in ["limit=0", "limit=101", "offset=-1", "cursor=nonsense"] {
            assert_eq!(app.get(&format!("{path}?{query}")).by(&User::of("other")).send().await.status, 400, "{query}");
        }
        for anybody in [User::of("other"), User::individual("nobody"), User::individual("user-of-farm")] {
            assert_eq!(app.get(&path).by(&anybody).send().await.error(403), "forbidden");
        }
        for nothing in ["nonsense", "0190f5fe-0000-7000-8000-000000000000"] {
            let reply = app.get(&format!("/v1/listings/{nothing}/events")).by(&User::admin()).send().await;
            assert_eq!(reply.error(404), "not_found");
        }
    }

    async fn events_cannot_be_changed_or_deleted(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        let before = events(&app, &id).await;
        let table = if backend == Backend::Postgres { "livestock.listing_events" } else { "listing_events" };
        let mut changes = vec![format!("UPDATE {table} SET to_status = 'sold'"), format!("DELETE FROM {table}")];
        if backend == Backend::Postgres {
            changes.push(format!("TRUNCATE {table}"));
        }
        for change in changes {
            let panic = catch_unwind(AssertUnwindSafe(|| app.database.execute(&change))).unwrap_err();
            let message = panic.downcast_ref::<String>().unwrap();
            // Citus names a part of the table, such as listing_events_102008.
            let (table, reason) = message.split_once(" is append-only").unwrap();
            assert!(table.contains("listing_events"), "{change}: {table} {reason}");
        }
        assert_eq!(events(&app, &id).await, before);
    }
}

#[test]
fn a_page_of_a_history_is_read_in_the_order_of_an_index() {
    testkit::block_on(async {
        let (app, farm) = (start(Backend::Sqlite).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        app.record_statements();
        app.get(&format!("/v1/listings/{id}/events?limit=1&offset=1")).by(&farm).send().await.ok();
        let statements = app.take_statements();
        let list =
            statements.iter().find(|sql| sql.starts_with("SELECT") && sql.contains("user_name")).unwrap();
        let plan = app.query_plan(list);
        assert!(plan.contains("listing_events_listing (listing_id=? AND n>?)"), "{plan}");
        assert!(!plan.contains("B-TREE"), "{plan}");
    });
}
