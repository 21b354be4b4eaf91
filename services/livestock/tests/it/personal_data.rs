//! The export and the erasure of everything that the service holds about a user.

use livestock::{Livestock, Settings};
use serde_json::json;
use testkit::{App, Backend, ErasedUser, SystemStub, User};

use crate::feed;
use crate::lifecycle::{read, to};
use crate::sample::{CATTLE, create, full, search, with};

testkit::on_both! {
    async fn erases_every_mention_and_keeps_the_records(backend) {
        let system = SystemStub::start().await;
        let settings = Settings { system_url: system.url(), ..Settings::default() };
        let app = App::start::<Livestock>(backend, settings).await;
        let (zeph, colleague, other) = (ErasedUser::of("farm"), User::of("farm"), User::of("other"));
        let hook = json!({"url": "https://127-0-0-1.invalid/", "events": ["listing.published", "listing.closed"]});
        app.post("/v1/webhooks").by(&colleague).json(&hook).send().await.ok();
        let photo = json!([{ "id": system.add_with_name("front.jpg", &zeph, ErasedUser::NAME) }]);
        let keyed = app.post(CATTLE).by(&zeph).header("idempotency-key", "1").json(&with(full(), "/files", photo.clone()));
        let own = keyed.send().await.ok()["id"].as_str().unwrap().to_owned();
        let of_colleague = create(&app, &colleague, &with(full(), "/files", photo)).await;
        let of_other = create(&app, &other, &full()).await;
        to(&app, &zeph, &of_colleague, "sold").send().await.ok();
        app.call("PUT", &format!("/v1/listings/{of_other}/wishlist")).by(&zeph).send().await.ok();
        let report = json!({"reason": "other", "message": "Not theirs."});
        app.post(&format!("/v1/listings/{of_other}/report")).by(&zeph).json(&report).send().await.ok();
        let enquiry = json!({"message": "I am Zeph.", "name": ErasedUser::NAME, "email": "zeph@example.com"});
        app.post(&format!("/v1/listings/{of_other}/enquiries")).by(&zeph).json(&enquiry).send().await.ok();
        let saved = json!({"name": "Sheep", "parameters": {"f:commodityType": "sheep"}, "notify": true});
        app.post("/v1/saved-searches").by(&zeph).json(&saved).send().await.ok();
        system.set_share_status(Some(503));
        let late = json!([{ "id": system.add_with_name("late.jpg", &zeph, ErasedUser::NAME) }]);
        create(&app, &zeph, &with(full(), "/files", late)).await;
        let before = read(&app, &other, &of_other).await;

        let ids = [
            "due_shares.user_id", "enquiries.user_id", "file_uploaders.user_id", "idempotency_keys.caller", "listing_events.user_id",
            "listings.document", "reports.user_id", "saved_searches.user_id", "webhook_message_users.user_id",
            "webhook_messages.body", "wishlists.user_id",
        ];
        ErasedUser::assert_mentioned(&app, &ids, &["enquiries.name", "listing_events.user_name", "listings.document", "webhook_messages.body"]);
        app.record_statements();
        let exported = ErasedUser::count(&app).await;
        for (kind, count) in [
            ("listings", 2), ("files", 3), ("events", 3), ("wishlist", 1), ("reports", 1), ("enquiries", 1), ("pendingShares", 1),
            ("idempotencyKeys", 1), ("savedSearches", 1), ("webhookDeliveries", 3),
        ] {
            assert_eq!(exported[kind], count, "{kind}");
        }
        // The events of creations are erased with their listings.
        assert_eq!(ErasedUser::erase(&app).await, exported.values().sum::<i64>() - 2);
        ErasedUser::assert_indexed(&app);
        ErasedUser::assert_erased(&app).await;

        let listing = read(&app, &colleague, &own).await;
        let id = listing["userId"].as_str().unwrap();
        assert!(id.starts_with("erased-"), "{id}");
        assert_eq!(listing["files"][0]["userName"], "erased user");
        assert_eq!(read(&app, &colleague, &of_colleague).await["userId"], "user-of-farm");
        let events = app.get(&format!("/v1/listings/{of_colleague}/events")).by(&User::admin()).send().await.ok();
        assert_eq!((&events[0]["userId"], &events[1]["userId"]), (&json!("user-of-farm"), &json!(id)));
        let closed = feed::all(&app, &colleague, "f:type=listing.closed").await;
        assert_eq!((&closed[0]["userId"], &closed[0]["userName"]), (&json!(id), &json!("erased user")));
        let reports = app.get(&format!("/v1/listings/{of_other}/reports")).by(&User::admin()).send().await.ok();
        assert_eq!((&reports[0]["userId"], &reports[0]["message"]), (&json!(id), &json!("Not theirs.")));
        assert_eq!(read(&app, &other, &of_other).await, before);
        assert_eq!(search(&app, &zeph, "isWishlisted=true").await, Vec::<String>::new());
        assert!(search(&app, &other, "").await.contains(&own));
    }

    async fn events_stay_append_only_except_for_erasures(backend) {
        let app = App::start::<Livestock>(backend, Settings::default()).await;
        create(&app, &User::of("farm"), &full()).await;
        let table = if backend == Backend::Postgres { "livestock.listing_events" } else { "listing_events" };
        for change in [
            "UPDATE {} SET user_id = 'another'", "UPDATE {} SET reason = 'sold'", "UPDATE {} SET to_status = 'draft'",
            "UPDATE {} SET user_id = 'erased-1', reason = 'sold'", "DELETE FROM {}",
        ] {
            let (url, sql) = (app.database.url.clone(), change.replace("{}", table));
            let changed = std::thread::spawn(move || testkit::execute(&url, &sql)).join();
            assert!(changed.is_err(), "{change}");
        }
        app.database.execute(&format!("UPDATE {table} SET user_id = 'erased-1'"));
    }
}
