//! Paging by offset and by cursor.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use testkit::{App, TestResponse, User};

use crate::sample::{create, ids, plain, start};

/// Creates seven listings: two with quantity 1, two with 2, three without.
async fn create_seven(app: &App) -> Vec<String> {
    let mut made = Vec::new();
    for quantity in [json!(2), json!(null), json!(1), json!(2), json!(null), json!(1), json!(null)] {
        made.push(create(app, &User::of("farm"), &plain(&json!({ "quantity": quantity }))).await);
    }
    made
}

async fn get(app: &App, path: &str) -> TestResponse {
    app.get(path).by(&User::individual("u")).send().await
}

testkit::on_both! {
    async fn cursors_neither_repeat_nor_skip_listings(backend) {
        let app = start(backend).await;
        let made = create_seven(&app).await;
        for (query, order) in [
            ("sortBy=quantity", [2, 5, 0, 3, 1, 4, 6]),
            ("sortBy=quantity&sortDesc=true", [3, 0, 5, 2, 6, 4, 1]),
            ("sortBy=organisationName", [0, 1, 2, 3, 4, 5, 6]),
            ("sortBy=price&sortDesc=true", [6, 5, 4, 3, 2, 1, 0]),
        ] {
            let expected = order.map(|i: usize| made[i].clone());
            for limit in 1..=8 {
                let mut seen = Vec::new();
                for page in app.pages(&User::individual("u"), &format!("/v1/listings?{query}&limit={limit}")).await {
                    let page = ids(&page.ok());
                    assert!(page.len() <= limit && !page.is_empty());
                    seen.extend(page);
                }
                assert_eq!(seen, expected, "{query} limit={limit}");
            }
        }
    }

    async fn offset_pages_have_links(backend) {
        let app = start(backend).await;
        let made = create_seven(&app).await;
        let reply = get(&app, "/v1/listings?sortDesc=false&offset=2&limit=3&f:status=active-selling").await;
        assert_eq!(reply.header("x-total-count"), "");
        for (relation, expected) in [("first", 0..3), ("prev", 0..3), ("next", 5..7)] {
            let found = get(&app, &reply.link(relation).unwrap()).await;
            assert_eq!(ids(&found.ok()), made[expected], "{relation}");
        }
        assert_eq!(ids(&reply.ok()), made[2..5]);
        let last = get(&app, "/v1/listings?offset=4&limit=3").await;
        assert_eq!(last.link("next"), None);
        let past = get(&app, "/v1/listings?offset=7").await;
        assert_eq!(past.ok(), json!([]));
    }

    async fn counts_only_on_request(backend) {
        let app = start(backend).await;
        create_seven(&app).await;
        for (query, total) in [
            ("count=true&limit=2", "7"), ("count=true&f:status=sold", "0"), ("count=false", ""), ("", ""),
        ] {
            let reply = get(&app, &format!("/v1/listings?{query}")).await;
            assert_eq!(reply.header("x-total-count"), total, "{query}");
        }
    }

    /// The cursors have the right order, but a value that no row has, or a value of the wrong type.
    async fn forged_cursors_do_no_harm(backend) {
        let app = start(backend).await;
        let made = create_seven(&app).await;
        for order in ["-createdAt", "price", "age", "quantity", "organisationName", "distance@1,2"] {
            let sort = order.trim_start_matches('-').split('@').next().unwrap();
            let desc = order.starts_with('-');
            for value in [json!(null), json!(5), json!(-1), json!(i64::MAX), json!("x")] {
                let cursor = json!({"s": order, "v": value, "i": made[0]}).to_string();
                let cursor = URL_SAFE_NO_PAD.encode(cursor);
                let point = if sort == "distance" { "&latitude=1&longitude=2" } else { "" };
                for rest in ["", "&distanceKm=50&latitude=1&longitude=2", "&format=csv"] {
                    let rest = if rest.contains("latitude") && !point.is_empty() { "&distanceKm=50" } else { rest };
                    let path = format!("/v1/listings?sortBy={sort}&sortDesc={desc}{point}{rest}&cursor={cursor}");
                    let reply = get(&app, &path).await;
                    let fits = match sort {
                        "createdAt" => value == 5 || value == -1,
                        "organisationName" => value.is_string(),
                        // The bits of -1 and of the greatest number are not those of a distance.
                        "distance" => value.is_null() || value == 5,
                        _ => !value.is_string(),
                    };
                    if fits {
                        assert_eq!(reply.status, 200, "{order} {value} {rest}: {}", reply.text());
                    } else {
                        assert_eq!(reply.errors(), ["cursor format"], "{order} {value} {rest}");
                    }
                }
            }
        }
    }

    async fn rejects_a_cursor_of_another_order(backend) {
        let app = start(backend).await;
        create_seven(&app).await;
        let first = get(&app, "/v1/listings?limit=2&sortBy=quantity").await;
        let next = first.link("next").unwrap();
        let reply = get(&app, &next.replace("quantity", "price")).await;
        assert_eq!(reply.errors(), ["cursor format"]);
    }
}
