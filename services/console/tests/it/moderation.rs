//! The queue of reports.

use super::market::{carys, create_listing};
use super::*;

async fn report(office: &Office, id: &str, by: &str, message: &str) {
    let body = json!({"reason": "misleading", "message": message});
    let reporter = user(by, "wye-valley-farm", "Wye Valley Farm");
    office.livestock.post(&format!("/v1/listings/{id}/report")).by(&reporter).json(&body).send().await.ok();
}

pub(crate) fn anna() -> User {
    user("anna", "drover", "Drover").with_roles(&["admin"])
}

async fn reports(office: &Office, id: &str) -> Value {
    office.livestock.get(&format!("/v1/listings/{id}/reports")).by(&anna()).send().await.ok()
}

#[test]
fn reports_of_one_listing_are_one_entry_and_one_outcome_settles_all() {
    testkit::block_on(async {
        let office = Office::start().await;
        let first = create_listing(&office, "sheep", &json!({"properties": {"title": "First"}})).await;
        let second = create_listing(&office, "sheep", &json!({"properties": {"title": "Second"}})).await;
        for (id, by, message) in
            [(&first, "tom", "Wrong breed"), (&second, "tom", "Not sound"), (&first, "ann", "Old picture")]
        {
            report(&office, id, by, message).await;
        }
        let anna = office.browser("anna").await;
        let page = anna.get("/moderation").await;
        for shown in [
            "3 open reports, 2 listings",
            "2 reports, misleading",
            "Wrong breed",
            "Old picture",
            "data-key=\"j\"",
            "Also of Penybont Farm",
        ] {
            assert!(page.text.contains(shown), "{shown}: {}", page.text);
        }
        assert!(!page.text.contains("Not sound"), "the oldest first: {}", page.text);
        let decide = "/moderation/decide";
        let reply = anna.send_form(&page, decide, &[("outcome", "dismissed"), ("note", "It is fine")]).await;
        let done = format!("/moderation?of={first}&done=dismissed");
        assert_eq!((reply.status, reply.location()), (303, &*done), "{}", reply.text);
        let settled = reports(&office, &first).await;
        for index in 0..2 {
            assert_eq!(
                (&settled[index]["outcome"], &settled[index]["note"]),
                (&json!("dismissed"), &json!("It is fine"))
            );
        }
        let next = anna.get(&done).await;
        let decided = format!(
            "<a href=\"/market/{first}\">First</a>: Left on the market. All reports of it are settled."
        );
        assert!(next.text.contains("Not sound") && next.text.contains(&decided), "{}", next.text);
        // The earlier outcomes of the seller.
        let (_, earlier) = next.text.split_once("Decided before on other listings of Penybont Farm").unwrap();
        assert!(earlier.contains("Left on the market: It is fine") && earlier.contains(&first), "{earlier}");
        // Nobody else has the page.
        assert_eq!(office.browser("carys").await.get("/moderation").await.status, 403);
        assert!(!office.browser("carys").await.get("/").await.ok().contains("/moderation"));
    });
}

#[test]
fn removing_and_suspending_is_one_go() {
    testkit::block_on(async {
        let office = Office::start().await;
        let reported = create_listing(&office, "sheep", &json!({"properties": {"title": "Reported"}})).await;
        let other = create_listing(&office, "sheep", &json!({"properties": {"title": "Other"}})).await;
        report(&office, &reported, "tom", "A fraud").await;
        let anna = office.browser("anna").await;
        let decide = "/moderation/decide";
        let page = anna.get("/moderation").await;
        let remove = [("outcome", "listing_removed"), ("suspend", "yes")];
        let refused = anna.send_form(&page, decide, &remove).await;
        assert!(
            refused.status == 400 && refused.text.contains("Is needed to remove a listing"),
            "{}",
            refused.text
        );
        // Nothing is settled by a note that is too long to be a reason.
        let long = "x".repeat(1_001);
        let refused =
            anna.send_form(&refused, decide, &[("outcome", "listing_removed"), ("note", &long)]).await;
        assert!(
            refused.status == 400 && refused.text.contains(&long) && refused.text.contains("error-note"),
            "{}",
            refused.text
        );
        assert_eq!(reports(&office, &reported).await[0]["status"], "open");
        let reply =
            anna.send_form(&refused, decide, &[("outcome", "listing_removed"), ("note", "Fraud")]).await;
        assert_eq!(reply.location(), format!("/moderation?of={reported}&done=suspended"), "{}", reply.text);
        let page = anna.get(reply.location()).await;
        assert!(
            page.text.contains("Reported</a>: ") && page.text.contains("href=\"#suspended\""),
            "{}",
            page.text
        );
        let tom = user("tom", "wye-valley-farm", "Wye Valley Farm");
        let found = office.livestock.get("/v1/listings").by(&tom).send().await.ok();
        assert_eq!(found, json!([]), "nothing of the seller is on the market: {other}");
        let page = anna.get("/moderation").await;
        assert!(
            page.text.contains("There is nothing to decide") && page.text.contains("Suspended sellers"),
            "{}",
            page.text
        );
        assert!(page.text.contains("/reinstate&quot;"), "{}", page.text);
        let reply = anna.send_form(&page, "/moderation/reinstate", &[]).await;
        assert_eq!(reply.location(), "/moderation?done=reinstated");
        let found = office.livestock.get("/v1/listings").by(&tom).send().await.ok();
        assert_eq!(found.as_array().unwrap().len(), 1);
    });
}

#[test]
fn the_decision_of_a_colleague_meanwhile_is_shown_and_wins() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = create_listing(&office, "sheep", &json!({"properties": {"title": "Reported"}})).await;
        report(&office, &id, "tom", "A fraud").await;
        let browser = office.browser("anna").await;
        let page = browser.get("/moderation").await;
        let open = reports(&office, &id).await[0]["id"].as_str().unwrap().to_owned();
        let decision = json!({"outcome": "dismissed", "note": "Checked by telephone"});
        office
            .livestock
            .post(&format!("/v1/reports/{open}/resolve"))
            .by(&anna())
            .json(&decision)
            .send()
            .await
            .ok();
        let remove = [("outcome", "listing_removed"), ("suspend", "yes"), ("note", "Fraud")];
        let reply = browser.send_form(&page, "/moderation/decide", &remove).await;
        assert_eq!(reply.location(), format!("/moderation?listing={id}&done=decided"), "{}", reply.text);
        let shown = browser.get(reply.location()).await.ok();
        for text in
            ["Somebody else has decided", "Checked by telephone", "Left on the market", "Nothing was changed"]
        {
            assert!(shown.contains(text), "{text}: {shown}");
        }
        let listing = office.livestock.get(&format!("/v1/listings/{id}")).by(&carys()).send().await.ok();
        assert_eq!((&listing["status"], listing.get("suspended")), (&json!("active"), None));
    });
}

#[test]
fn what_was_reported_stays_readable_after_an_edit_and_a_removal() {
    testkit::block_on(async {
        let office = Office::start().await;
        let seller = office.browser("carys").await;
        let picture = ("gold.jpg", "image/jpeg", loads::photograph("gold"));
        seller.send_file(&seller.get("/files").await, "/files/upload", &[], picture).await;
        let stored = office.system.get("/v1/files").by(&carys()).send().await.ok()[0]["id"].clone();
        let members =
            json!({"description": "Pure gold sheep", "files": [{"id": stored, "name": "gold.jpg"}]});
        let id = create_listing(&office, "sheep", &members).await;
        report(&office, &id, "tom", "No sheep is gold").await;
        let edit = json!({"description": "Sheep", "files": []});
        office
            .livestock
            .call("PATCH", &format!("/v1/listings/{id}"))
            .by(&carys())
            .json(&edit)
            .send()
            .await
            .ok();
        let browser = office.browser("anna").await;
        let page = browser.get("/moderation").await;
        let source = format!("src=\"/files/{}?width=320\"", stored.as_str().unwrap());
        let reported = [
            "Changed since it was reported",
            "<del>Pure gold sheep</del>",
            "Removed since it was reported",
            &source,
        ];
        for shown in reported {
            assert!(page.text.contains(shown), "{shown}: {}", page.text);
        }
        assert_eq!(browser.get(&format!("/files/{}", stored.as_str().unwrap())).await.status, 200);
        let remove = [("outcome", "listing_removed"), ("note", "Not gold")];
        let reply = browser.send_form(&page, "/moderation/decide", &remove).await;
        assert!(browser.get(reply.location()).await.ok().contains("</a>: Removed from the market."));
        let page = browser.get(&format!("/moderation?listing={id}")).await.ok();
        let decided = ["No sheep is gold", "Removed from the market", "Decided before"];
        for shown in decided.into_iter().chain(reported) {
            assert!(page.contains(shown), "{shown}: {page}");
        }
    });
}
