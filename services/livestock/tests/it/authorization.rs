//! The authorization matrix: one entry for each operation.

use serde_json::json;
use testkit::{AccessCase, AccessRule, User};

use crate::lifecycle::draft;
use crate::sample::{create, full, start_with};
use crate::saved_searches::save;

testkit::on_both! {
    async fn operations_enforce_access_rules(backend) {
        let app = start_with(backend, |settings| settings.public_listings = true).await;
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
        let sold_id = sold.rsplit('/').next().unwrap();
        // On PostgreSQL, transactions of other tests delay the feed.
        testkit::wait_until(async || app.get("/v1/events").by(&farm).send().await.text().contains(sold_id)).await;
        let event = |query: &str| own(format!("/v1/events{query}")).discloses(sold_id);
        let cancelled_draft = |query: &str| AccessCase::new(format!("/v1/listings?{query}"), &[&farm, &colleague, &admin])
            .denies(&elsewhere).denies(&alone).discloses(hidden);
        let (saved, removed) = (save(&app, &farm, json!({}), false).await, save(&app, &farm, json!({}), false).await);
        let saved_id = saved.rsplit('/').next().unwrap();
        // Not even an admin has the saved searches of others.
        let of_user = |path: &str| AccessCase::new(path, &[&farm]).denies(&colleague).denies(&admin);
        let form = json!({"message": "?", "name": "Tom", "phone": "01432 123456"});
        let enquired = format!("/v1/listings/{}/enquiries", create(&app, &farm, &full()).await);
        let enquired = app.post(&enquired).by(&User::individual("buyer")).json(&form).send().await.ok();
        let enquiry = enquired["id"].as_str().unwrap().to_owned();
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
            ("list_listings_by_ids", AccessRule::Scoped(vec![
                own(format!("/v1/listings/by-ids?ids={id}")).discloses(id),
                own(format!("/v1/listings/by-ids?ids={hidden}")).discloses(hidden),
            ])),
            ("search_listings_public", AccessRule::Public),
            ("find_listing_public", AccessRule::Public),
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
            ("send_enquiry", AccessRule::AnyCaller("everybody enquires about listings of others")),
            ("list_enquiries", AccessRule::Scoped(vec![own("/v1/enquiries".to_owned()).discloses(&enquiry)])),
            ("mark_enquiry_answered", AccessRule::Restricted(vec![own(format!("/v1/enquiries/{enquiry}/answered"))])),
            ("list_reports_of_listing", AccessRule::Admin),
            ("list_events_of_listing", AccessRule::Restricted(vec![
                own(format!("{secret}/events")), own(format!("{never_published}/events")), own(format!("{reported}/events")),
            ])),
            ("list_events", AccessRule::Scoped(vec![
                event(""), event("?f:organisationId=farm"), event("?f:type=listing.published&include=resource"),
                event("?scope=market&f:organisationId=farm"),
            ])),
            ("stream_events", AccessRule::AnyCaller("a stream has the events that the caller reads in the feed")),
            ("update_listing", AccessRule::Restricted([secret, reported].map(|path| {
                own(path.clone()).json(json!({"description": "edited"})).leaves_unchanged(path)
            }).into())),
            ("list_organisations", AccessRule::Admin),
            ("suspend_organisation", AccessRule::Admin),
            ("reinstate_organisation", AccessRule::Admin),
            ("list_reports", AccessRule::Admin),
            ("resolve_report", AccessRule::Admin),
            ("add_listing_to_wishlist", AccessRule::Restricted(vec![change(secret, "wishlist"), change(&never_published, "wishlist")])),
            ("remove_listing_from_wishlist", AccessRule::Restricted(vec![change(secret, "wishlist"), change(&never_published, "wishlist")])),
            ("create_saved_search", AccessRule::AnyCaller("everybody saves searches of their own")),
            ("list_saved_searches", AccessRule::Scoped(vec![of_user("/v1/saved-searches").discloses(saved_id)])),
            ("find_saved_search", AccessRule::Restricted(vec![of_user(&saved)])),
            ("update_saved_search", AccessRule::Restricted(vec![of_user(&saved).json(json!({"name": "edited"}))])),
            ("list_listings_of_saved_search", AccessRule::Restricted(vec![of_user(&format!("{saved}/listings"))])),
            ("delete_saved_search", AccessRule::Restricted(vec![of_user(&removed).removes()])),
            ("list_categories", AccessRule::AnyCaller("the catalogue belongs to no organisation")),
            ("export_personal_data", AccessRule::Admin),
            ("erase_personal_data", AccessRule::Admin),
            ("find_settings", AccessRule::Admin),
            ("update_settings", AccessRule::Admin),
        ].into_iter().chain(testkit::webhook_access_rules(&hooks, "farm")).collect())
        .await;
    }
}
