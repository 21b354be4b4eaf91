//! Facets: the values of the filters and their counts.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, User};

use crate::lifecycle::to;
use crate::sample::{create, create_and_read, full, plain, search, start, with};

async fn facets(app: &App, query: &str) -> Value {
    app.get(&format!("/v1/listings?docs=false&{query}")).by(&User::of("anybody")).send().await.ok()
}

/// Returns the values of a filter as `value count`, in the order of the response.
fn counts(facets: &Value, filter: &str) -> Vec<String> {
    let values = facets["filters"][filter].as_array().unwrap().iter();
    values.map(|value| format!("{} {}", value["value"].as_str().unwrap(), value["count"])).collect()
}

testkit::on_both! {
    async fn all_facets_are_empty_without_listings(backend) {
        let empty = json!({"f:status": [], "f:commodityType": [], "f:commodityBreed": [], "f:breedType": [], "f:commodityBreedSociety": [],
            "f:commoditySexes": [], "f:commodityAdditionalInfo": []});
        let app = start(backend).await;
        assert_eq!(facets(&app, "").await, json!({"filters": empty, "total": 0}));
        let head = app.call("HEAD", "/v1/listings?docs=false").by(&User::of("a")).send().await;
        assert_eq!((head.status, head.bytes.len()), (200, 0));
    }

    /// Readiness waits for the read of all listings, so that no request for facets has to.
    async fn a_ready_service_has_read_all_listings(backend) {
        let first = start(backend).await;
        create(&first, &User::of("a"), &full()).await;
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let second = App::start_replica::<Livestock>(&first, settings).await;
        loop {
            let ready = second.get("/readyz").send().await;
            let (status, body): (u16, Value) = (ready.status, serde_json::from_slice(&ready.bytes).unwrap());
            assert_eq!(status, if body["status"] == "ok" { 200 } else { 503 }, "{body}");
            if status == 200 {
                break;
            }
            assert_eq!(body["status"], "starting");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        second.record_statements();
        assert_eq!(facets(&second, "").await["total"], 1);
        let statements = second.take_statements();
        // On PostgreSQL, listings of recent events are read again.
        let reads_all = |sql: &String| sql.contains("additional_info") && !sql.contains("\"id\" = ANY");
        assert!(!statements.iter().any(reads_all), "{statements:#?}");
    }

    /// The spelling is that of the catalogue, else that of the first listing. The most frequent value comes first.
    async fn values_that_differ_in_case_are_one_value(backend) {
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

    async fn values_that_are_equal_folded_are_one_value(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let breeds = ["Blonde d\u{2019}Aquitaine", "blonde d'aquitaine", "Blonde  d\u{2bc}Aquitaine", "Our\u{2011}Own Cr\u{f6}ss", "our own  cross"];
        let mut made = Vec::new();
        for breed in breeds {
            made.push(create(&app, &a, &plain(&json!({"breed": breed, "breedSociety": breed}))).await);
        }
        let found = facets(&app, "").await;
        for filter in ["f:commodityBreed", "f:commodityBreedSociety"] {
            assert_eq!(counts(&found, filter), ["Blonde d'Aquitaine 3", "Our\u{2011}Own Cr\u{f6}ss 2"]);
            for (value, expected) in [("BLONDE%20d%E2%80%99aquitaine", &made[..3]), ("our-own%20CROSS", &made[3..])] {
                let mut matches = crate::sample::search(&app, &a, &format!("{filter}={value}")).await;
                matches.reverse();
                assert_eq!(matches, expected, "{filter}={value}");
                assert_eq!(facets(&app, &format!("{filter}={value}")).await["total"], expected.len());
            }
        }
    }

    /// Everybody sees the spelling of the first listing, so a listing of another category must not change it.
    async fn the_spelling_of_the_catalogue_applies_in_every_category(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let properties = json!({"breed": "cHaRoLaIs", "breedSociety": "bRiTiSh texel sheep society"});
        for path in ["/v1/listings/sheep", "/v1/listings/cattle"] {
            create_and_read(&app, &a, path, &plain(&properties)).await;
        }
        let found = facets(&app, "").await;
        assert_eq!(counts(&found, "f:commodityBreed"), ["Charolais 2"]);
        assert_eq!(counts(&found, "f:commodityBreedSociety"), ["British Texel Sheep Society 2"]);
    }

    async fn a_breed_type_may_be_written_in_another_way(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let id = create(&app, &a, &plain(&json!({"breed": "Texel", "breedType": "Pedigree\u{2011}x"}))).await;
        create(&app, &a, &plain(&json!({"breed": "Texel", "breedType": "cross"}))).await;
        for value in ["pedigree%20X", "PEDIGREE-x"] {
            assert_eq!(search(&app, &a, &format!("f:breedType={value}")).await, std::slice::from_ref(&id), "{value}");
            let found = facets(&app, &format!("f:breedType={value}")).await;
            assert_eq!(counts(&found, "f:commodityBreed"), ["Texel 1"], "{value}");
            assert_eq!(counts(&found, "f:breedType"), ["Pedigree\u{2011}x 1", "cross 1"], "{value}");
        }
    }

    async fn statistics_follow_edits_of_the_price(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let money = |amount: f64, currency: &str| json!({"amount": amount, "currency": currency});
        let listings = [
            (json!({"type": "fixed", "pricePerUnit": money(500.0, "GBP")}), json!({"minAge": 6.5, "breed": "a"})),
            (json!({"type": "fixed", "pricePerUnit": money(1.0, "EUR")}), json!({"maxAge": 1.25, "breed": "b"})),
        ];
        let mut made = Vec::new();
        for (price, properties) in &listings {
            made.push(create(&app, &a, &with(plain(properties), "/price", price.clone())).await);
        }
        let stats = async |query: &str| facets(&app, query).await.get("stats").cloned();
        let only = |amount: i64, currency: &str| json!({"minimum": amount, "maximum": amount, "currency": currency});
        // As many in both currencies: the first code.
        assert_eq!(stats("").await.unwrap()["price"], only(1, "EUR"));
        let patch = json!({"price": {"pricePerUnit": {"amount": 1000}}});
        crate::lifecycle::patch(&app, &a, &made[0], &patch).await.ok();
        assert_eq!(stats("f:commodityBreed=a").await.unwrap()["price"], only(1000, "GBP"));
        crate::lifecycle::patch(&app, &a, &made[0], &json!({"price": {"type": "poa"}})).await.ok();
        assert_eq!(stats("f:commodityBreed=a").await.unwrap(), json!({"age": {"minimum": 6.5, "maximum": 6.5}}));
        to(&app, &a, &made[0], "sold").send().await.ok();
        assert_eq!(stats("f:commodityBreed=a").await, None);
    }

    /// The counts of a caller equal those of the same search by the caller.
    async fn drafts_and_cancelled_listings_count_only_for_callers_who_find_them(backend) {
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
            // Other organisations see a breed that was never published in lower case.
            (&User::admin(), "f:status=cancelled", &["Published 1", "hereford 1"]),
            (&b, "f:status=cancelled&f:organisationId=a&f:commodityBreed=hereford", &["Published 1"]),
            (&a, "isWishlisted=true", &["Hereford 1", "Published 1"]),
            // The wishlist belongs to the user, the draft to the organisation.
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

    async fn lists_the_500_most_frequent_breeds(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let breeds: Vec<_> = (0..502).map(|n| plain(&json!({"breed": format!("Breed {n}")}))).collect();
        for chunk in breeds.chunks(50) {
            futures_util::future::join_all(chunk.iter().map(|listing| create(&app, &a, listing))).await;
        }
        create(&app, &a, &breeds[501]).await;
        let found = facets(&app, "").await;
        let values = counts(&found, "f:commodityBreed");
        assert_eq!((values.len(), &*values[0]), (500, "Breed 501 2"));
        assert_eq!((&found["total"], &found["truncated"]), (&json!(503), &json!(true)));
        let found = facets(&app, "f:commodityType=sheep").await;
        assert_eq!((&found["total"], found.get("truncated")), (&json!(0), None));
        assert_eq!(facets(&app, "f:commodityBreed=breed%20499").await["total"], 1, "unlisted values are counted too");
    }

    /// A count includes every change that was answered before, on any replica, also beside an open transaction.
    async fn counts_include_changes_of_other_replicas_at_once(backend) {
        let (one, a) = (start(backend).await, User::of("a"));
        let other = App::start_replica::<Livestock>(&one, Settings::default()).await;
        // A transaction that starts before the changes and ends after them.
        let long = "BEGIN; SELECT pg_current_xact_id(); SELECT pg_sleep(1); COMMIT";
        let transaction = (backend == Backend::Postgres).then(|| tokio::task::spawn_blocking(|| testkit::execute_on_server(long)));
        let before = facets(&other, "").await["total"].as_u64().unwrap();
        for round in 1..=20 {
            let several = [full(), full(), full()];
            let made = several.iter().map(|listing| create(&one, &a, listing));
            let made = futures_util::future::join_all(made).await;
            assert_eq!(facets(&other, "").await["total"].as_u64().unwrap(), before + round * 2 + 1);
            to(&other, &a, &made[0], "cancelled").send().await.ok();
            assert_eq!(facets(&one, "").await["total"].as_u64().unwrap(), before + round * 2);
        }
        if let Some(transaction) = transaction {
            transaction.await.unwrap();
        }
    }

    /// More listings than one statement reads change between two requests.
    async fn thousands_of_changes_are_counted_at_once(backend) {
        let app = start(backend).await;
        create(&app, &User::of("a"), &full()).await;
        assert_eq!(facets(&app, "").await["total"], 1);
        let id = backend.numbered_id();
        let record = match backend {
            Backend::Sqlite => "INSERT INTO listing_events (listing_id, user_id, to_status, at)
                SELECT id, 'u', status, created_at FROM listings WHERE organisation_id = 'b'",
            // With Citus, the default of the position would be that of the server that has the listing.
            Backend::Postgres => "DO $$ DECLARE position BIGINT := pg_current_xact_id()::text::bigint; BEGIN
                INSERT INTO listing_events (listing_id, user_id, to_status, at, position)
                SELECT id, 'u', status, created_at, position FROM listings WHERE organisation_id = 'b'; END $$",
        };
        app.database.execute(&format!(
            "INSERT INTO listings (id, organisation_id, kind, status, category, created_at, organisation_key, breed,
                types, sexes, additional_info, document, derived, search_text)
             SELECT {id}, 'b', kind, status, category, created_at, organisation_key, 'b' || (n % 3), '', '', '', document,
                derived, search_text FROM listings, {};
             {record}",
            backend.numbers(2_500)
        ));
        let found = facets(&app, "").await;
        assert_eq!(found["total"], 2_501);
        assert_eq!(counts(&found, "f:commodityBreed"), ["b1 834", "b0 833", "b2 833", "Hereford 1"]);
        app.database.execute(&format!("UPDATE listings SET status = 'sold' WHERE organisation_id = 'b'; {record}"));
        let found = facets(&app, "query=heifers").await;
        assert_eq!(counts(&found, "f:status"), ["sold 2500", "active-selling 1"]);
    }

    /// No replica returns outdated facets from its cache.
    async fn every_kind_of_change_updates_cached_facets(backend) {
        let (one, a) = (start(backend).await, User::of("a"));
        let other = App::start_replica::<Livestock>(&one, Settings::default()).await;
        let assert_facets = async |breeds: &[&str], statuses: &[&str]| {
            for app in [&one, &other, &one, &other] {
                let found = facets(app, "f:commodityType=cattle").await;
                assert_eq!(counts(&found, "f:commodityBreed"), breeds);
                assert_eq!(counts(&found, "f:status"), statuses);
            }
        };
        assert_facets(&[], &[]).await;
        let breed = |name: &str, draft: bool| with(plain(&json!({"breed": name})), "/isDraft", json!(draft));
        let first = create(&one, &a, &breed("OUR OWN", false)).await;
        assert_facets(&["OUR OWN 1"], &["active-selling 1"]).await;
        let draft = create(&other, &a, &breed("our own", true)).await;
        let named = create(&other, &a, &breed("Other", true)).await;
        assert_facets(&["OUR OWN 1"], &["active-selling 1"]).await;
        for id in [&draft, &named] {
            to(&one, &a, id, "active").send().await.ok();
        }
        assert_facets(&["OUR OWN 2", "Other 1"], &["active-selling 3"]).await;
        to(&other, &a, &first, "sold").send().await.ok();
        assert_facets(&["OUR OWN 1", "Other 1"], &["active-selling 2", "sold 1"]).await;
        to(&one, &a, &draft, "cancelled").send().await.ok();
        assert_facets(&["Other 1"], &["active-selling 1", "sold 1"]).await;
    }
}
