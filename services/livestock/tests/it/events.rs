//! The events of listings: complete, readable for admins, append-only.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use testkit::{Backend, User};

use crate::lifecycle::{draft, events, to};
use crate::sample::{create, full, start};

testkit::on_both! {
    async fn every_status_change_is_an_event(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = draft(&app, &farm).await;
        create(&app, &farm, &full()).await;
        to(&app, &farm.clone().with("sub", "colleague"), &id, "active").send().await.ok();
        to(&app, &User::admin(), &id, "cancelled").send().await.ok();
        let mut listed = events(&app, &id).await;
        let times: Vec<_> = listed.iter_mut().map(|event| event.as_object_mut().unwrap().remove("atUTC").unwrap()).collect();
        assert!(times.is_sorted_by(|a, b| a.as_str() <= b.as_str()), "{times:?}");
        assert!(times.iter().all(|at| at.as_str().is_some_and(|at| at.len() == 24 && at.ends_with('Z'))), "{times:?}");
        assert_eq!(listed, [
            json!({"to": "draft", "userId": "user-of-farm"}),
            json!({"from": "draft", "to": "active", "userId": "colleague"}),
            json!({"from": "active", "to": "cancelled", "reason": "cancelled", "userId": "admin"}),
        ]);

        let path = format!("/v1/listings/{id}/events");
        for anybody in [farm, User::of("other"), User::individual("nobody")] {
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
            assert!(message.contains("listing_events is append-only"), "{change}: {message}");
        }
        assert_eq!(events(&app, &id).await, before);
    }
}
