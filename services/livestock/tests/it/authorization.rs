//! Who may do what with listings: one row for each operation.

use serde_json::json;
use testkit::{AccessCase, Rule, User};

use crate::lifecycle::draft;
use crate::sample::{create, full, start};

testkit::on_both! {
    async fn every_operation_refuses_whom_it_must(backend) {
        let app = start(backend).await;
        let (farm, colleague, admin) = (User::of("farm"), User::of("farm").with("sub", "ann"), User::admin());
        // Acting for another organisation, or none, whoever made it owns it no more.
        let (elsewhere, alone) = (User::of("other").with("sub", "user-of-farm"), User::alone("user-of-farm"));
        let mut drafts = Vec::new();
        for _ in 0..4 {
            drafts.push(format!("/v1/listings/{}", draft(&app, &farm).await));
        }
        let [secret, published, reported, cancelled] = &drafts[..] else { unreachable!() };
        let never_published = format!("/v1/listings/{}", draft(&app, &farm).await);
        app.post(&format!("{never_published}/close")).by(&farm).json(&json!({"status": "cancelled"})).send().await.ok();
        let hidden = never_published.rsplit('/').next().unwrap();
        let sold = format!("/v1/listings/{}", create(&app, &farm, &full()).await);
        let own = |path: String| AccessCase::new(path, &[&farm, &colleague, &admin]).not(&elsewhere).not(&alone);
        let change = |path: &String, to: &str| own(format!("{path}/{to}")).keeps(path);
        let id = secret.rsplit('/').next().unwrap();
        let search = |query: &str| AccessCase::new(format!("/v1/listings?{query}"), &[&farm, &colleague]).not(&admin)
            .not(&elsewhere).not(&alone).shows(id);
        let cancelled_draft = |query: &str| AccessCase::new(format!("/v1/listings?{query}"), &[&farm, &colleague, &admin])
            .not(&elsewhere).not(&alone).shows(hidden);
        testkit::every_operation_refuses_whom_it_must(&app, vec![
            // A search for drafts is for one's own, an admin's too.
            ("search_listings", Rule::Scoped(vec![
                search("f:status=draft"), search("f:status=draft&f:organisationId=farm"), search("f:status=draft&format=CSV"),
                search("f:status=draft&sortBy=price&f:commodityType=cattle"),
                cancelled_draft("f:status=cancelled"), cancelled_draft("f:status=cancelled&format=CSV"),
                cancelled_draft("f:status=cancelled&f:organisationId=farm&sortBy=price"),
            ])),
            ("find_listing", Rule::Foreign(vec![own(secret.clone()), own(never_published.clone())])),
            ("create_sheep_listing", Rule::Member),
            ("create_cattle_listing", Rule::Member),
            ("create_working_dog_listing", Rule::Member),
            ("create_feed_listing", Rule::Member),
            ("create_bedding_listing", Rule::Member),
            ("publish_listing", Rule::Foreign(vec![change(published, "publish")])),
            ("close_listing", Rule::Foreign(vec![
                change(cancelled, "close").json(json!({"status": "cancelled"})),
                change(&sold, "close").json(json!({"status": "sold"})),
            ])),
            // Any listing that is no draft; of one's own there is nothing to report.
            ("report_listing", Rule::Foreign(vec![
                AccessCase::new(format!("{reported}/report"), &[&admin]).not(&elsewhere).not(&alone)
                    .json(json!({"reason": "other", "message": null})).keeps(format!("{reported}/reports")),
            ])),
            ("list_reports_of_listing", Rule::Admin),
            ("list_events_of_listing", Rule::Admin),
            ("add_listing_to_wishlist", Rule::Foreign(vec![change(secret, "wishlist"), change(&never_published, "wishlist")])),
            ("remove_listing_from_wishlist", Rule::Foreign(vec![change(secret, "wishlist"), change(&never_published, "wishlist")])),
            ("list_categories", Rule::AnyCaller("the catalogue is nobody's own")),
            ("find_settings", Rule::Admin),
            ("update_settings", Rule::Admin),
        ])
        .await;
    }
}
