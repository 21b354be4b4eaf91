//! The authorization matrix: one entry for each operation.

use serde_json::json;
use testkit::{AccessCase, AccessRule, User};

use crate::lifecycle::draft;
use crate::sample::{create, full, start};

testkit::on_both! {
    async fn operations_enforce_access_rules(backend) {
        let app = start(backend).await;
        let (farm, colleague, admin) = (User::of("farm"), User::of("farm").with("sub", "ann"), User::admin());
        // The user who created the listings, acting for another organisation or for none, has no access.
        let (elsewhere, alone) = (User::of("other").with("sub", "user-of-farm"), User::individual("user-of-farm"));
        let mut drafts = Vec::new();
        for _ in 0..4 {
            drafts.push(format!("/v1/listings/{}", draft(&app, &farm).await));
        }
        let [secret, published, reported, cancelled] = &drafts[..] else { unreachable!() };
        let never_published = format!("/v1/listings/{}", draft(&app, &farm).await);
        app.post(&format!("{never_published}/close")).by(&farm).json(&json!({"status": "cancelled"})).send().await.ok();
        let hidden = never_published.rsplit('/').next().unwrap();
        let sold = format!("/v1/listings/{}", create(&app, &farm, &full()).await);
        let own = |path: String| AccessCase::new(path, &[&farm, &colleague, &admin]).denies(&elsewhere).denies(&alone);
        let change = |path: &String, to: &str| own(format!("{path}/{to}")).leaves_unchanged(path);
        let id = secret.rsplit('/').next().unwrap();
        let search = |query: &str| AccessCase::new(format!("/v1/listings?{query}"), &[&farm, &colleague]).denies(&admin)
            .denies(&elsewhere).denies(&alone).discloses(id);
        let cancelled_draft = |query: &str| AccessCase::new(format!("/v1/listings?{query}"), &[&farm, &colleague, &admin])
            .denies(&elsewhere).denies(&alone).discloses(hidden);
        let hooks = testkit::webhooks(&app, "farm", "listing.published").await;
        testkit::assert_access_rules(&app, vec![
            // A search for drafts returns those of the caller's organisation, even for an admin.
            ("search_listings", AccessRule::Scoped(vec![
                search("f:status=draft"), search("f:status=draft&f:organisationId=farm"), search("f:status=draft&format=CSV"),
                search("f:status=draft&sortBy=price&f:commodityType=cattle"),
                cancelled_draft("f:status=cancelled"), cancelled_draft("f:status=cancelled&format=CSV"),
                cancelled_draft("f:status=cancelled&f:organisationId=farm&sortBy=price"),
            ])),
            ("find_listing", AccessRule::Restricted(vec![own(secret.clone()), own(never_published.clone())])),
            ("create_sheep_listing", AccessRule::Member),
            ("create_cattle_listing", AccessRule::Member),
            ("create_working_dog_listing", AccessRule::Member),
            ("create_feed_listing", AccessRule::Member),
            ("create_bedding_listing", AccessRule::Member),
            ("publish_listing", AccessRule::Restricted(vec![change(published, "publish")])),
            ("close_listing", AccessRule::Restricted(vec![
                change(cancelled, "close").json(json!({"status": "cancelled"})),
                change(&sold, "close").json(json!({"status": "sold"})),
            ])),
            // Everybody may report a published listing, except its own organisation.
            ("report_listing", AccessRule::Restricted(vec![
                AccessCase::new(format!("{reported}/report"), &[&admin]).denies(&elsewhere).denies(&alone)
                    .json(json!({"reason": "other", "message": null})).leaves_unchanged(format!("{reported}/reports")),
            ])),
            ("list_reports_of_listing", AccessRule::Admin),
            ("list_events_of_listing", AccessRule::Admin),
            ("add_listing_to_wishlist", AccessRule::Restricted(vec![change(secret, "wishlist"), change(&never_published, "wishlist")])),
            ("remove_listing_from_wishlist", AccessRule::Restricted(vec![change(secret, "wishlist"), change(&never_published, "wishlist")])),
            ("list_categories", AccessRule::AnyCaller("the catalogue belongs to no organisation")),
            ("export_personal_data", AccessRule::Admin),
            ("erase_personal_data", AccessRule::Admin),
            ("find_settings", AccessRule::Admin),
            ("update_settings", AccessRule::Admin),
        ].into_iter().chain(testkit::webhook_access_rules(&hooks, "farm")).collect())
        .await;
    }
}
