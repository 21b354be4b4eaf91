//! Listings go by their publication, and If-Match holds where their status is changed.

use serde_json::json;
use testkit::{Backend, User};

use crate::lifecycle::{draft, patch, read, to};
use crate::sample::{create, full, search, start};

testkit::on_both! {
    async fn a_published_draft_is_the_newest_listing(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let (first, other) = (draft(&app, &farm).await, create(&app, &farm, &full()).await);
        let second = draft(&app, &farm).await;
        assert_eq!(read(&app, &farm, &first).await.get("publishedAtUTC"), None);
        assert_eq!(search(&app, &farm, "f:status=draft").await, [second.clone(), first.clone()]);
        to(&app, &farm, &first, "active").send().await.ok();
        for default in ["", "sortBy=publishedAt&sortDesc=true"] {
            assert_eq!(search(&app, &farm, default).await, [first.clone(), other.clone()], "{default}");
        }
        assert_eq!(search(&app, &farm, "sortBy=publishedAt").await, [other.clone(), first.clone()]);
        assert_eq!(search(&app, &farm, "sortBy=createdAt").await, [first.clone(), other.clone()]);
        let published = read(&app, &farm, &first).await;
        assert!(published["publishedAtUTC"].as_str().unwrap() > published["createdAtUTC"].as_str().unwrap());
        let at_once = read(&app, &farm, &other).await;
        assert_eq!(at_once["publishedAtUTC"], at_once["createdAtUTC"]);
        // It stays when the listing is edited and closed.
        patch(&app, &farm, &first, &json!({"tags": ["x"]})).await.ok();
        to(&app, &farm, &first, "sold").send().await.ok();
        assert_eq!(read(&app, &farm, &first).await["publishedAtUTC"], published["publishedAtUTC"]);
        to(&app, &farm, &second, "cancelled").send().await.ok();
        assert_eq!(read(&app, &farm, &second).await.get("publishedAtUTC"), None);
    }

    /// Rows of the previous release: a draft that was published later, with an amount of another type.
    async fn old_rows_take_publication_and_price_from_what_is_known(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let old = draft(&app, &farm).await;
        let newer = create(&app, &farm, &full()).await;
        to(&app, &farm, &old, "active").send().await.ok();
        let published = read(&app, &farm, &old).await;
        let document = match backend {
            Backend::Sqlite => "json_set(json_remove(document, '$.publishedAtUTC'), '$.price', json('PRICE'))",
            Backend::Postgres => "jsonb_set(document::jsonb - 'publishedAtUTC', '{price}', 'PRICE')::json",
        };
        let price = r#"{"type": "poa", "pricePerUnit": {"amount": 5, "currency": "GBP"}}"#;
        app.database.execute(&format!(
            "UPDATE listings SET derived = 3, price = 50000, created_at = first_stored_at, document = {} WHERE id = {}",
            document.replace("PRICE", price), backend.id(&old)
        ));
        assert_eq!(search(&app, &farm, "").await, [newer.clone(), old.clone()]);
        testkit::wait_until(async || read(&app, &farm, &old).await["price"] == json!({"type": "poa"})).await;
        let rebuilt = app.get(&format!("/v1/listings/{old}")).by(&farm).send().await;
        assert_eq!(rebuilt.header("etag"), "\"3\"", "clients read it again");
        assert_eq!(rebuilt.ok()["publishedAtUTC"], published["publishedAtUTC"]);
        assert_eq!(search(&app, &farm, "").await, [old.clone(), newer.clone()]);
        assert_eq!(search(&app, &farm, "sortBy=price").await, [newer, old]);
    }

    async fn publishing_and_closing_honour_if_match(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = draft(&app, &farm).await;
        for (status, revision) in [("active", 1), ("sold", 2)] {
            let stale = to(&app, &farm, &id, status).header("if-match", "\"99\"").send().await;
            assert_eq!(stale.json()["body"]["revision"], revision);
            assert_eq!(stale.error(412), "precondition_failed");
            to(&app, &farm, &id, status).header("if-match", &format!("W/\"{revision}\"")).send().await.ok();
            // A repetition changes nothing, but the condition holds.
            assert_eq!(to(&app, &farm, &id, status).header("if-match", "\"1\"").send().await.status, 412);
        }
        let closed = to(&app, &farm, &id, "active").header("if-match", "\"99\"").send().await;
        assert_eq!(closed.json()["body"]["reason"], "listing_closed");
        assert_eq!(closed.error(409), "conflict");
    }
}
