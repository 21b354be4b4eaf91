use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, User};

use crate::lifecycle::to;
use crate::sample::{create, create_and_read, full, plain, start, with};

async fn facets(app: &App, query: &str) -> Value {
    app.get(&format!("/v1/listings?docs=false&{query}")).by(&User::of("anybody")).send().await.ok()
}

/// `value count` of a filter, in order.
fn counts(facets: &Value, filter: &str) -> Vec<String> {
    let values = facets["filters"][filter].as_array().unwrap().iter();
    values.map(|value| format!("{} {}", value["value"].as_str().unwrap(), value["count"])).collect()
}

testkit::on_both! {
    async fn without_listings(backend) {
        let empty = json!({"f:status": [], "f:commodityType": [], "f:commodityBreed": [], "f:commodityBreedSociety": [],
            "f:commoditySexes": [], "f:commodityAdditionalInfo": []});
        let app = start(backend).await;
        assert_eq!(facets(&app, "").await, json!({"filters": empty, "total": 0}));
        let head = app.call("HEAD", "/v1/listings?docs=false").by(&User::of("a")).send().await;
        assert_eq!((head.status, head.bytes.len()), (200, 0));
    }

    /// As the first that named it wrote it, the catalogue's breeds as the catalogue does; commonest first.
    async fn values_have_one_spelling(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        for breed in ["Hill Cross", "HEREFORD", "hill CROSS", "Hereford", "hill cross", "Zwartbles"] {
            create(&app, &a, &plain(&json!({"breed": breed, "breedSociety": breed}))).await;
        }
        let found = facets(&app, "").await;
        assert_eq!(counts(&found, "f:commodityBreed"), ["Hill Cross 3", "Hereford 2", "Zwartbles 1"]);
        assert_eq!(counts(&found, "f:commodityBreedSociety"), ["Hill Cross 3", "Hereford 2", "Zwartbles 1"]);
        let found = facets(&app, "f:commodityBreed=HILL%20cross&f:commodityBreedSociety=zwartbles").await;
        assert_eq!(counts(&found, "f:commodityBreed"), ["Zwartbles 1"]);
        assert_eq!(counts(&found, "f:commodityBreedSociety"), ["Hill Cross 3"]);
        assert_eq!((&found["total"], counts(&found, "f:status").len()), (&json!(0), 0));
    }

    /// The spelling of the first listing is shown to everybody: a listing of another category must not deface it.
    async fn names_of_the_catalogue_win_in_every_category(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let properties = json!({"breed": "cHaRoLaIs", "breedSociety": "bRiTiSh texel sheep society"});
        for path in ["/v1/listings/sheep", "/v1/listings/cattle"] {
            create_and_read(&app, &a, path, &plain(&properties)).await;
        }
        let found = facets(&app, "").await;
        assert_eq!(counts(&found, "f:commodityBreed"), ["Charolais 2"]);
        assert_eq!(counts(&found, "f:commodityBreedSociety"), ["British Texel Sheep Society 2"]);
    }

    async fn each_filter_under_all_the_others(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let id = create(&app, &a, &full()).await;
        create(&app, &a, &with(full(), "/type", json!("buying"))).await;
        create(&app, &a, &with(full(), "/isDraft", json!(true))).await;
        let found = facets(&app, "f:status=active-buying&f:commoditySexes=heifers").await;
        assert_eq!(counts(&found, "f:status"), ["active-buying 1", "active-selling 1"]);
        assert_eq!(counts(&found, "f:commoditySexes"), ["heifers 1", "steers 1"]);
        assert_eq!(counts(&found, "f:commodityType"), ["cattle 1"]);
        assert_eq!(counts(&found, "f:commodityBreed"), ["Hereford 1", "cross 1"]);
        assert_eq!(found["total"], 1);
        to(&app, &a, &id, "sold").send().await.ok();
        let found = facets(&app, "").await;
        assert_eq!(counts(&found, "f:status"), ["active-buying 1", "sold 1"]);
        assert_eq!(found["total"], 1);
        for query in ["f:status=draft&f:organisationId=a", "f:status=cancelled", "f:organisationId=b", "f:commodityType=zz"] {
            assert_eq!(facets(&app, query).await["total"], 0, "{query}");
        }
    }

    /// Each caller's counts are those of the same search by that caller.
    async fn drafts_and_cancelled_listings_count_for_those_who_find_them(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let breed = |name: &str, draft: bool| with(plain(&json!({"breed": name})), "/isDraft", json!(draft));
        create(&app, &a, &breed("Texel", false)).await;
        create(&app, &a, &breed("Draft", true)).await;
        let published = create(&app, &a, &breed("Published", false)).await;
        let draft = create(&app, &a, &breed("Hereford", true)).await;
        for id in [&published, &draft] {
            app.call("PUT", &format!("/v1/listings/{id}/wishlist")).by(&a).send().await.ok();
            to(&app, &a, id, "cancelled").send().await.ok();
        }
        let (b, elsewhere) = (User::of("b"), User::of("b").with("sub", "user-of-a"));
        let none = &[][..];
        for (user, query, breeds) in [
            (&a, "f:status=draft", &["Draft 1"][..]),
            (&b, "f:status=draft", none),
            (&User::admin(), "f:status=draft", none),
            (&a, "f:status=cancelled", &["Hereford 1", "Published 1"]),
            (&b, "f:status=cancelled", &["Published 1"]),
            // A breed that was never on the market is written as it is compared, but for its own organisation.
            (&User::admin(), "f:status=cancelled", &["Published 1", "hereford 1"]),
            (&b, "f:status=cancelled&f:organisationId=a&f:commodityBreed=hereford", &["Published 1"]),
            (&a, "isWishlisted=true", &["Hereford 1", "Published 1"]),
            // The wishlist is the user's; the draft was the organisation's.
            (&elsewhere, "isWishlisted=true", &["Published 1"]),
            (&a, "f:organisationId=a", &["Texel 1"]),
        ] {
            let path = format!("/v1/listings?count=true&{query}");
            let total = app.get(&path).by(user).send().await.header("x-total-count").parse::<u64>().unwrap();
            for _ in 0..2 {
                let found = app.get(&format!("{path}&docs=false")).by(user).send().await.ok();
                assert_eq!(counts(&found, "f:commodityBreed"), breeds, "{query}");
                assert_eq!(found["total"], total, "{query}");
                let statuses = counts(&found, "f:status");
                assert!(statuses.iter().all(|status| status == "active-selling 1"), "{query} {statuses:?}");
            }
        }
    }

    async fn many_breeds(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let breeds: Vec<_> = (0..502).map(|n| plain(&json!({"breed": format!("Breed {n}")}))).collect();
        for some in breeds.chunks(50) {
            futures_util::future::join_all(some.iter().map(|listing| create(&app, &a, listing))).await;
        }
        create(&app, &a, &breeds[501]).await;
        let found = facets(&app, "").await;
        let values = counts(&found, "f:commodityBreed");
        assert_eq!((values.len(), &*values[0]), (500, "Breed 501 2"));
        assert_eq!((&found["total"], &found["truncated"]), (&json!(503), &json!(true)));
        let found = facets(&app, "f:commodityType=sheep").await;
        assert_eq!((&found["total"], found.get("truncated")), (&json!(0), None));
        assert_eq!(facets(&app, "f:commodityBreed=breed%20499").await["total"], 1, "also those that are not listed");
    }

    /// Of every change that was answered the next count knows, whoever made it, whatever else is under way.
    async fn another_replicas_changes_count_at_once(backend) {
        let (one, a) = (start(backend).await, User::of("a"));
        let other = App::start_replica::<Livestock>(&one, Settings::default()).await;
        // A transaction that began earlier and ends later.
        let long = "BEGIN; SELECT pg_current_xact_id(); SELECT pg_sleep(1); COMMIT";
        let held = (backend == Backend::Postgres).then(|| tokio::task::spawn_blocking(|| testkit::execute_on_server(long)));
        let before = facets(&other, "").await["total"].as_u64().unwrap();
        for round in 1..=20 {
            let several = [full(), full(), full()];
            let made = several.iter().map(|listing| create(&one, &a, listing));
            let made = futures_util::future::join_all(made).await;
            assert_eq!(facets(&other, "").await["total"].as_u64().unwrap(), before + round * 2 + 1);
            to(&other, &a, &made[0], "cancelled").send().await.ok();
            assert_eq!(facets(&one, "").await["total"].as_u64().unwrap(), before + round * 2);
        }
        if let Some(held) = held {
            held.await.unwrap();
        }
    }

    /// An answer that was given before is not given again when it is no longer true, on either replica.
    async fn every_kind_of_change_changes_the_answer(backend) {
        let (one, a) = (start(backend).await, User::of("a"));
        let other = App::start_replica::<Livestock>(&one, Settings::default()).await;
        let seen = async |want: &[&str], statuses: &[&str]| {
            for app in [&one, &other, &one, &other] {
                let found = facets(app, "f:commodityType=cattle").await;
                assert_eq!(counts(&found, "f:commodityBreed"), want);
                assert_eq!(counts(&found, "f:status"), statuses);
            }
        };
        seen(&[], &[]).await;
        let breed = |name: &str, draft: bool| with(plain(&json!({"breed": name})), "/isDraft", json!(draft));
        let first = create(&one, &a, &breed("OUR OWN", false)).await;
        seen(&["OUR OWN 1"], &["active-selling 1"]).await;
        let draft = create(&other, &a, &breed("our own", true)).await;
        let named = create(&other, &a, &breed("Other", true)).await;
        seen(&["OUR OWN 1"], &["active-selling 1"]).await;
        for id in [&draft, &named] {
            to(&one, &a, id, "active").send().await.ok();
        }
        seen(&["OUR OWN 2", "Other 1"], &["active-selling 3"]).await;
        to(&other, &a, &first, "sold").send().await.ok();
        seen(&["OUR OWN 1", "Other 1"], &["active-selling 2", "sold 1"]).await;
        to(&one, &a, &draft, "cancelled").send().await.ok();
        seen(&["Other 1"], &["active-selling 1", "sold 1"]).await;
    }
}
