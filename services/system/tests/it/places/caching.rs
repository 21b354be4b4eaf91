//! Responses of providers are cached until they are cleared.

use serde_json::{Value, json};
use system::AddressProvider::{Loqate, Photon};
use system::Settings;
use testkit::User;

use super::{KEY, Places, addresses_from, calls, loqate, photon, start, start_with, what3words, words_from};

/// Clears the cache and returns the message.
async fn clear(app: &Places, request: Value) -> String {
    let reply = app.post("/v1/cache").by(&User::admin()).json(&request).send().await.ok();
    reply["message"].as_str().unwrap().to_owned()
}

#[test]
fn repeated_requests_make_no_calls() {
    testkit::block_on(async {
        let (words, addresses, photon) =
            (what3words::stub().await, loqate::stub().await, photon::stub().await);
        let app = start_with(Settings {
            address_provider: Loqate,
            address_url: addresses_from(Loqate, &addresses).address_url,
            address_key: Some(KEY.into()),
            ..words_from(&words)
        })
        .await;
        // Number of calls to the word provider and to the address providers.
        let total = async || (calls(&words).await, calls(&addresses).await + calls(&photon).await);
        let calls_of_two_requests = async |app: &Places, path: &str| {
            let before = total().await;
            let first = app.get(path).send().await.ok();
            let after = total().await;
            assert_eq!(app.get(&path.replace("/v1/", "/v1/public/")).send().await.ok(), first);
            assert_eq!(total().await, after, "{path}");
            (after.0 - before.0, after.1 - before.1)
        };
        assert_eq!(
            calls_of_two_requests(&app, "/v1/locations/three-words?query=filled.count.soap").await,
            (1, 0)
        );
        assert_eq!(
            calls_of_two_requests(&app, "/v1/locations/coordinates?lat=51.52085&lon=-0.19552").await,
            (1, 0)
        );
        assert_eq!(calls_of_two_requests(&app, "/v1/addresses?query=hr4+9ar").await, (0, 1));
        assert_eq!(calls_of_two_requests(&app, "/v1/addresses?query=nothing").await, (0, 1));
        let app = start_with(addresses_from(Photon, &photon)).await;
        assert_eq!(
            calls_of_two_requests(&app, "/v1/locations/coordinates?lat=52.0541&lon=-2.7").await,
            (0, 1)
        );
        assert_eq!(
            calls_of_two_requests(&app, "/v1/locations/address?id=W38862723@52.0541,-2.7169").await,
            (0, 1)
        );
    });
}

#[test]
fn different_searches_are_cached_separately() {
    testkit::block_on(async {
        let stub = loqate::stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        let calls_of = async |parameters: &[(&str, &str)]| {
            let before = calls(&stub).await;
            app.search(parameters).await.ok();
            calls(&stub).await - before
        };
        assert_eq!(calls_of(&[("query", "hr4 9ar")]).await, 1);
        assert_eq!(calls_of(&[("query", " hr4  9ar ")]).await, 0, "white space is normalized");
        assert_eq!(calls_of(&[("query", "hr4 9ar"), ("countryISO", "GB")]).await, 1);
        assert_eq!(calls_of(&[("query", "hr4 9ar"), ("countryISO", "gb")]).await, 0);
        assert_eq!(calls_of(&[("query", "hr4 9ar"), ("limit", "1")]).await, 1);
        assert_eq!(calls_of(&[("query", "hr4 9ar"), ("limit", "1"), ("offset", "1")]).await, 1);
        assert_eq!(calls_of(&[("query", "hr4 9ar"), ("id", "GB|RM|ENG|9AR-HR4")]).await, 1);
        assert_eq!(calls_of(&[("id", "GB|RM|ENG|9AR-HR4")]).await, 1);
    });
}

#[test]
fn not_found_is_not_cached() {
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
fn cleared_responses_are_fetched_again() {
    testkit::block_on(async {
        let stub = photon::stub().await;
        let app = start_with(addresses_from(Photon, &stub)).await;
        for request in [
            json!({"keys": ["location:coordinates:grid:photon:52.0541,-2.7"]}),
            json!({"prefixes": ["location:coordinates:"]}),
            json!({"prefixes": ["location:coordinates:grid:photon:52"]}),
            json!({"flush": true}),
        ] {
            let before = calls(&stub).await;
            for _ in 0..2 {
                app.by_coordinates(52.0541, -2.7).await.ok();
            }
            assert_eq!(calls(&stub).await - before, 1, "{request}");
            assert!(clear(&app, request.clone()).await.starts_with("1 "), "{request}");
        }
    });
}

#[test]
fn responses_of_embedded_providers_are_cached() {
    testkit::block_on(async {
        let app = start().await;
        let location = app.by_coordinates(52.0565, -2.716).await.ok();
        app.by_words(location["threeWords"].as_str().unwrap()).await.ok();
        app.by_id("", "postcode:HR49AR").await.ok();
        app.search(&[("query", "Hereford")]).await.ok();
        let words = location["threeWords"].as_str().unwrap();
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
