//! The saved searches of a user whose personal data is erased.

use serde_json::json;
use testkit::{ErasedUser, User};

use super::{new_matches, save, stored_matches, wait_until_matched};
use crate::sample::{create, full, start};

testkit::on_both! {
    async fn they_are_deleted_and_notify_nobody_any_more(backend) {
        let app = start(backend).await;
        let (zeph, colleague, seller) = (ErasedUser::of("buyers"), User::of("buyers"), User::of("seller"));
        let hook = json!({"url": "https://127-0-0-1.invalid/", "events": ["listing.matched"]});
        app.post("/v1/webhooks").by(&colleague).json(&hook).send().await.ok();
        let mut erased = Vec::new();
        for notify in [true, true, false] {
            erased.push(save(&app, &zeph, json!({"f:commodityBreed": "hereford"}), notify).await);
        }
        let other = save(&app, &colleague, json!({}), true).await;
        create(&app, &seller, &full()).await;
        wait_until_matched(&app, backend).await;
        let stored = |table: &str| app.database.count(table);
        assert_eq!((stored("saved_searches"), stored("saved_search_counts"), stored("webhook_deliveries")), (4, 3, 1));
        let exported = ErasedUser::count(&app).await;
        assert_eq!((exported["savedSearches"], exported["webhookDeliveries"]), (3, 1));

        assert_eq!(ErasedUser::erase(&app).await, exported.values().sum::<i64>());
        ErasedUser::assert_erased(&app).await;
        assert_eq!((stored("saved_searches"), stored("webhook_deliveries")), (1, 1));
        assert_eq!(app.get("/v1/saved-searches").by(&zeph).send().await.ok(), json!([]));
        for path in &erased {
            assert_eq!(app.get(path).by(&zeph).send().await.error(404), "not_found");
        }
        create(&app, &seller, &full()).await;
        wait_until_matched(&app, backend).await;
        assert_eq!((stored_matches(&app, backend), stored("webhook_deliveries")), (4, 2));
        assert_eq!(new_matches(&app, &colleague, &other).await, json!(2));
    }
}
