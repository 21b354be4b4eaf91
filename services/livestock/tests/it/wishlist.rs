//! Wishlists: one per user, with listings of any status.

use serde_json::json;
use testkit::{App, Backend, User};

use crate::lifecycle::{draft, to};
use crate::sample::{create, full, search, start};

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
