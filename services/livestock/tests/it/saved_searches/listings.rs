//! `GET /v1/saved-searches/{id}/listings`.

use serde_json::json;
use testkit::User;

use super::{new_matches, save, wait_until_matched};
use crate::lifecycle::draft;
use crate::sample::{create, full, ids, plain, start, with};

testkit::on_both! {
    async fn the_listings_are_those_of_the_search(backend) {
        let (app, farm, ann) = (start(backend).await, User::of("farm"), User::individual("ann"));
        let mut made = Vec::new();
        for (breed, amount) in [("Hereford", 3), ("Texel", 1), ("hereford", 1), ("Hereford", 2), ("Hereford", 4)] {
            let price = json!({"type": "fixed", "pricePerUnit": {"amount": amount, "currency": "GBP"}});
            made.push(create(&app, &farm, &with(plain(&json!({"breed": breed})), "/price", price)).await);
        }
        let path = save(&app, &ann, json!({"f:commodityBreed": ["Hereford"]}), false).await;
        let get = async |query: &str| app.get(&format!("{path}/listings?{query}")).by(&ann).send().await;
        let expected = |order: &[usize]| order.iter().map(|n| made[*n].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&get("").await.ok()), expected(&[4, 3, 2, 0]));
        assert_eq!(ids(&get("sortBy=price").await.ok()), expected(&[2, 3, 0, 4]));
        assert_eq!(ids(&get("sortBy=price&sortDesc=true&limit=2&offset=1").await.ok()), expected(&[0, 3]));
        let first = get("sortBy=price&limit=3&count=true").await;
        assert_eq!(first.header("x-total-count"), "4");
        let next = first.link("next").unwrap();
        assert!(next.starts_with(&format!("{path}/listings?")), "{next}");
        assert_eq!(ids(&app.get(&next).by(&ann).send().await.ok()), expected(&[4]));
        // Filters belong into the saved search.
        assert_eq!(get("f:commodityBreed=texel").await.errors(), ["f:commodityBreed enum"]);
        assert_eq!(get("limit=0&sortBy=breed&offset=x").await.errors(), ["limit range", "offset type", "sortBy enum"]);
        assert_eq!(get("cursor=x").await.errors(), ["cursor format"]);
        assert_eq!(get("sortBy=distance").await.errors(), ["latitude required", "longitude required"]);
    }

    async fn head_leaves_the_new_matches(backend) {
        let (app, ann) = (start(backend).await, User::individual("ann"));
        let path = save(&app, &ann, json!({}), true).await;
        create(&app, &User::of("farm"), &full()).await;
        wait_until_matched(&app, backend).await;
        let before = app.get(&path).by(&ann).send().await;
        for method in ["HEAD", "GET"] {
            assert_eq!(new_matches(&app, &ann, &path).await, 1, "{method}");
            assert_eq!(app.get(&path).by(&ann).send().await.header("etag"), before.header("etag"));
            let reply = app.call(method, &format!("{path}/listings")).by(&ann).send().await;
            assert_eq!(reply.status, 200);
        }
        assert_eq!(new_matches(&app, &ann, &path).await, 0);
    }

    async fn a_point_gives_distances(backend) {
        let (app, farm, ann) = (start(backend).await, User::of("farm"), User::individual("ann"));
        let place = |lat: f64| with(full(), "/location/coordinates", json!({"lat": lat, "lon": -3}));
        let (far, near) = (create(&app, &farm, &place(52.4)).await, create(&app, &farm, &place(52.1)).await);
        create(&app, &farm, &place(56.0)).await;
        let point = json!({"latitude": "52", "longitude": "-3", "distanceKm": "100"});
        let path = save(&app, &ann, point, false).await;
        let found = app.get(&format!("{path}/listings")).by(&ann).send().await.ok();
        assert_eq!(ids(&found), [near, far]);
        assert!((found[0]["distanceKm"].as_f64().unwrap() - 11.119).abs() < 0.01, "{found}");
    }

    async fn searches_for_ones_own_have_the_users_rights(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let own = draft(&app, &farm).await;
        draft(&app, &User::of("other")).await;
        let wished = create(&app, &User::of("other"), &full()).await;
        app.call("PUT", &format!("/v1/listings/{wished}/wishlist")).by(&farm).send().await.ok();
        for (parameters, expected) in [(json!({"f:status": "draft"}), &own), (json!({"isWishlisted": "true"}), &wished)] {
            let path = save(&app, &farm, parameters, true).await;
            let found = app.get(&format!("{path}/listings")).by(&farm).send().await.ok();
            assert_eq!(ids(&found), std::slice::from_ref(expected));
        }
    }
}
