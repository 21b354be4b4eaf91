//! Wishlists: one per user, with listings of any status.

use serde_json::json;
use testkit::{App, Backend, User};

use crate::lifecycle::{draft, to};
use crate::sample::{create, full, search, start, start_with};
use crate::saved_searches::save;

const MINE: &str = "isWishlisted=true";

async fn call(app: &App, method: &str, user: &User, id: &str) -> testkit::TestResponse {
    app.call(method, &format!("/v1/listings/{id}/wishlist")).by(user).send().await
}

testkit::on_both! {
    async fn wishlists_belong_to_users(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let (ann, bob) = (User::of("other").with("sub", "ann"), User::individual("bob"));
        let first = create(&app, &farm, &full()).await;
        let second = create(&app, &farm, &full()).await;
        let third = create(&app, &farm, &full()).await;
        for (user, id) in [(&ann, &first), (&ann, &third), (&bob, &second), (&farm, &first)] {
            // Both operations can be repeated.
            for _ in 0..2 {
                assert_eq!(call(&app, "DELETE", user, id).await.ok()["status"], "success");
            }
            for _ in 0..2 {
                assert_eq!(call(&app, "PUT", user, id).await.ok()["status"], "success");
            }
        }
        assert_eq!(search(&app, &ann, MINE).await, [third.as_str(), &first]);
        assert_eq!(search(&app, &bob, MINE).await, [second.as_str()]);
        assert_eq!(search(&app, &farm, MINE).await, [first.as_str()]);
        assert_eq!(search(&app, &ann, "isWishlisted=false").await.len(), 3);
        // The wishlist belongs to the user, for whichever organisation they act.
        assert_eq!(search(&app, &User::individual("ann"), MINE).await.len(), 2);

        call(&app, "DELETE", &ann, &third).await.ok();
        assert_eq!(search(&app, &ann, MINE).await, [first.as_str()]);
        assert_eq!(search(&app, &farm, MINE).await, [first.as_str()]);
    }

    async fn listings_say_whether_they_are_on_the_readers_wishlist(backend) {
        let (app, farm) = (start_with(backend, |settings| settings.public_listings = true).await, User::of("farm"));
        let (ann, bob) = (User::individual("ann"), User::individual("bob"));
        let mut made = Vec::new();
        for _ in 0..3 {
            made.push(create(&app, &farm, &full()).await);
        }
        let wished = &made[1];
        call(&app, "PUT", &ann, wished).await.ok();
        let saved = save(&app, &ann, json!({}), false).await;
        let ids = made.join(",");
        for path in ["/v1/listings?sortDesc=false", &format!("/v1/listings/by-ids?ids={ids}"), &format!("{saved}/listings?sortBy=createdAt")] {
            let found = app.get(path).by(&ann).send().await.ok();
            let marks: Vec<_> = found.as_array().unwrap().iter().map(|listing| listing["isWishlisted"].clone()).collect();
            assert_eq!(marks, [json!(false), json!(true), json!(false)], "{path}");
        }
        let path = format!("/v1/listings/{wished}");
        for (user, expected) in [(&ann, true), (&bob, false), (&farm, false)] {
            assert_eq!(app.get(&path).by(user).send().await.ok()["isWishlisted"], expected);
        }
        // The tag does not cover it.
        let tag = app.get(&path).by(&ann).send().await.header("etag").to_owned();
        call(&app, "DELETE", &ann, wished).await.ok();
        assert_eq!(app.get(&path).by(&ann).header("if-none-match", &tag).send().await.status, 304);
        assert_eq!(app.get(&path).by(&ann).send().await.ok()["isWishlisted"], false);
        for path in ["/v1/public/listings".to_owned(), format!("/v1/public/listings/{wished}")] {
            assert!(!app.get(&path).send().await.text().contains("isWishlisted"));
        }
        let csv = app.get("/v1/listings?format=CSV").by(&ann).send().await.text();
        assert!(!csv.contains("true") && csv.lines().count() > 3, "{csv}");
    }

    async fn listings_are_read_by_ids(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        let (secret, open) = (draft(&app, &farm).await, create(&app, &farm, &full()).await);
        let path = format!("/v1/listings/by-ids?ids={open},{secret},x,%20{open},01955bf1-6c00-7a10-8000-00000000ffff");
        let found = app.get(&path).by(&other).send().await;
        assert_eq!(found.header("x-missing-ids"), format!("{secret},01955bf1-6c00-7a10-8000-00000000ffff"));
        let expected = app.get(&format!("/v1/listings/{open}")).by(&other).send().await.ok();
        assert_eq!(found.ok(), json!([expected]));
        let found = app.get(&path).by(&farm).send().await.ok();
        assert_eq!(crate::sample::ids(&found), [open.as_str(), &secret], "in the order of the request");
        let many = vec![open.as_str(); 101].join(",");
        for (query, error) in [("", "ids required"), (&format!("?ids={many}"), "ids length"), ("?ids=", "ids required")] {
            assert_eq!(app.get(&format!("/v1/listings/by-ids{query}")).by(&farm).send().await.errors(), [error]);
        }
        let hundred = vec![open.as_str(); 100].join(",");
        assert_eq!(app.get(&format!("/v1/listings/by-ids?ids={hundred}")).by(&farm).send().await.ok().as_array().unwrap().len(), 1);
        app.get(&path).send().await.error(401);
    }

    async fn closed_listings_stay_on_the_wishlist(backend) {
        let (app, farm, ann) = (start(backend).await, User::of("farm"), User::individual("ann"));
        let mut ids = Vec::new();
        for status in ["active", "sold", "found", "cancelled"] {
            let id = create(&app, &farm, &full()).await;
            call(&app, "PUT", &ann, &id).await.ok();
            to(&app, &farm, &id, status).send().await.ok();
            ids.push(id);
        }
        let found = app.get("/v1/listings?isWishlisted=true&sortBy=createdAt&sortDesc=false").by(&ann).send().await.ok();
        let found: Vec<_> = found.as_array().unwrap().iter().map(|l| (l["id"].clone(), l["status"].clone())).collect();
        let expected = ids.iter().zip(["active", "sold", "found", "cancelled"]);
        assert_eq!(found, expected.map(|(id, status)| (id.as_str().into(), status.into())).collect::<Vec<_>>());
        for (filter, id) in [("active-selling", &ids[0]), ("sold", &ids[1]), ("cancelled", &ids[3])] {
            assert_eq!(search(&app, &ann, &format!("{MINE}&f:status={filter}")).await, [id.as_str()]);
        }
        // A closed listing can be added and removed.
        call(&app, "DELETE", &ann, &ids[1]).await.ok();
        call(&app, "PUT", &User::individual("bob"), &ids[1]).await.ok();
        assert_eq!(search(&app, &ann, MINE).await.len(), 3);
        assert_eq!(search(&app, &User::individual("bob"), MINE).await, [ids[1].as_str()]);
    }

    async fn rejects_drafts_of_others_and_unknown_listings(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let secret = draft(&app, &farm).await;
        for method in ["PUT", "DELETE"] {
            for stranger in [User::of("other"), User::individual("user-of-farm")] {
                assert_eq!(call(&app, method, &stranger, &secret).await.error(403), "forbidden");
            }
            for nothing in ["nonsense", "0190f5fe-0000-7000-8000-000000000000"] {
                assert_eq!(call(&app, method, &User::admin(), nothing).await.error(404), "not_found");
            }
        }
        // A draft of the caller's organisation is found once it is published, or with its status.
        call(&app, "PUT", &farm, &secret).await.ok();
        assert!(search(&app, &farm, MINE).await.is_empty());
        assert_eq!(search(&app, &farm, "isWishlisted=true&f:status=draft").await, [secret.as_str()]);
        to(&app, &farm, &secret, "active").send().await.ok();
        assert_eq!(search(&app, &farm, MINE).await, [secret.as_str()]);
    }

    async fn concurrent_changes_all_succeed(backend) {
        let (app, ann) = (start(backend).await, User::individual("ann"));
        let id = create(&app, &User::of("farm"), &full()).await;
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..16 {
            let method = if n % 4 == 3 { "DELETE" } else { "PUT" };
            calls.spawn(app.call(method, &format!("/v1/listings/{id}/wishlist")).by(&ann).send());
        }
        assert!(calls.join_all().await.iter().all(|reply| reply.status == 200));
        call(&app, "PUT", &ann, &id).await.ok();
        assert_eq!(search(&app, &ann, MINE).await, [id]);
    }

    async fn a_wishlist_has_at_most_10000_listings(backend) {
        let (app, farm, ann) = (start(backend).await, User::of("farm"), User::individual("ann"));
        let (last, beyond) = (create(&app, &farm, &full()).await, create(&app, &farm, &full()).await);
        // The rows name no listings: 10,000 of these would take minutes.
        let (prepare, table, id, at) = match backend {
            Backend::Sqlite => ("PRAGMA foreign_keys = OFF", "wishlists", "randomblob(16)", "0"),
            Backend::Postgres => (
                "ALTER TABLE livestock.wishlists DROP CONSTRAINT wishlists_listing_id_fkey",
                "livestock.wishlists",
                "gen_random_uuid()",
                "now()",
            ),
        };
        app.database.execute(&format!(
            "{prepare}; INSERT INTO {table} (user_id, listing_id, added_at) SELECT 'ann', {id}, {at} FROM {}",
            backend.numbers(9_999)
        ));
        call(&app, "PUT", &ann, &last).await.ok();
        let refused = call(&app, "PUT", &ann, &beyond).await;
        assert_eq!((refused.status, &refused.json()["body"]["reason"]), (409, &json!("limit_reached")));
        // What is on the list already can be added again, and there is room after a removal.
        call(&app, "PUT", &ann, &last).await.ok();
        call(&app, "DELETE", &ann, &last).await.ok();
        call(&app, "PUT", &ann, &beyond).await.ok();
    }
}
