//! Answers are kept, until the cache is told otherwise.

use serde_json::{Value, json};
use system::AddressProvider::{Loqate, Photon};
use system::Settings;
use testkit::User;

use super::{Places, addresses_from, calls, loqate, photon, start, start_with, what3words, words_from};

async fn clear(app: &Places, what: Value) -> String {
    let reply = app.post("/v1/cache").by(&User::admin()).json(&what).send().await.ok();
    reply["message"].as_str().unwrap().to_owned()
}

#[test]
fn the_second_answer_costs_nothing() {
    testkit::block_on(async {
        let (words, addresses, photon) =
            (what3words::stub().await, loqate::stub().await, photon::stub().await);
        let both = Settings { words_url: words_from(&words).words_url, ..addresses_from(Loqate, &addresses) };
        let both = Settings { words_provider: words_from(&words).words_provider, ..both };
        let app = start_with(Settings { words_key: Some(super::KEY.into()), ..both }).await;
        let twice = async |app: &Places, path: &str| {
            let (words_before, before) =
                (calls(&words).await, calls(&addresses).await + calls(&photon).await);
            let first = app.get(path).send().await.ok();
            let asked =
                (calls(&words).await - words_before, calls(&addresses).await + calls(&photon).await - before);
            assert_eq!(app.get(&path.replace("/v1/", "/v1/public/")).send().await.ok(), first);
            let after =
                (calls(&words).await - words_before, calls(&addresses).await + calls(&photon).await - before);
            assert_eq!(asked, after, "{path}");
            asked
        };
        assert_eq!(twice(&app, "/v1/locations/three-words?query=filled.count.soap").await, (1, 0));
        assert_eq!(twice(&app, "/v1/locations/coordinates?lat=51.52085&lon=-0.19552").await, (1, 0));
        assert_eq!(twice(&app, "/v1/addresses?query=hr4+9ar").await, (0, 1));
        assert_eq!(twice(&app, "/v1/addresses?query=nothing").await, (0, 1));
        let app = start_with(addresses_from(Photon, &photon)).await;
        assert_eq!(twice(&app, "/v1/locations/coordinates?lat=52.0541&lon=-2.7").await, (0, 1));
        assert_eq!(twice(&app, "/v1/locations/address?id=W38862723@52.0541,-2.7169").await, (0, 1));
    });
}

#[test]
fn what_differs_is_kept_apart() {
    testkit::block_on(async {
        let stub = loqate::stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        let asked = async |parameters: &[(&str, &str)]| {
            let before = calls(&stub).await;
            app.search(parameters).await.ok();
            calls(&stub).await - before
        };
        assert_eq!(asked(&[("query", "hr4 9ar")]).await, 1);
        assert_eq!(asked(&[("query", " hr4  9ar ")]).await, 0, "spaces tell nothing apart");
        assert_eq!(asked(&[("query", "hr4 9ar"), ("countryISO", "GB")]).await, 1);
        assert_eq!(asked(&[("query", "hr4 9ar"), ("countryISO", "gb")]).await, 0);
        assert_eq!(asked(&[("query", "hr4 9ar"), ("limit", "1")]).await, 1);
        assert_eq!(asked(&[("query", "hr4 9ar"), ("limit", "1"), ("offset", "1")]).await, 1);
        assert_eq!(asked(&[("query", "hr4 9ar"), ("id", "GB|RM|ENG|9AR-HR4")]).await, 1);
        assert_eq!(asked(&[("id", "GB|RM|ENG|9AR-HR4")]).await, 1);
    });
}

#[test]
fn a_404_is_not_kept() {
    testkit::block_on(async {
        let stub = loqate::stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        for count in 1..3 {
            assert_eq!(app.by_id("", "unknown").await.status, 404);
            assert_eq!(calls(&stub).await, count);
        }
    });
}

#[test]
fn until_it_is_cleared() {
    testkit::block_on(async {
        let stub = photon::stub().await;
        let app = start_with(addresses_from(Photon, &stub)).await;
        for what in [
            json!({"keys": ["location:coordinates:grid:photon:52.0541,-2.7"]}),
            json!({"prefixes": ["location:coordinates:"]}),
            json!({"prefixes": ["location:coordinates:grid:photon:52"]}),
            json!({"flush": true}),
        ] {
            let before = calls(&stub).await;
            for _ in 0..2 {
                app.by_coordinates(52.0541, -2.7).await.ok();
            }
            assert_eq!(calls(&stub).await - before, 1, "{what}");
            assert!(clear(&app, what.clone()).await.starts_with("1 "), "{what}");
        }
    });
}

#[test]
fn the_embedded_providers_answers_are_kept_too() {
    testkit::block_on(async {
        let app = start().await;
        let at = app.by_coordinates(52.0565, -2.716).await.ok();
        app.by_words(at["threeWords"].as_str().unwrap()).await.ok();
        app.by_id("", "postcode:HR49AR").await.ok();
        app.search(&[("query", "Hereford")]).await.ok();
        let words = at["threeWords"].as_str().unwrap();
        for key in [
            "location:coordinates:grid:gazetteer:52.0565,-2.716",
            &format!("location:words:grid:gazetteer:{words}"),
            "location:address:grid:gazetteer:postcode:HR49AR",
            "address:search:gazetteer:GB+IE::11:0::hereford",
        ] {
            assert!(clear(&app, json!({ "keys": [key] })).await.starts_with("1 "), "{key}");
        }
        assert!(clear(&app, json!({"flush": true})).await.starts_with("0 "));
    });
}
