//! Locations from the embedded providers.

use serde_json::{Value, json};

use super::{all, assert_complete, start};

#[test]
fn finds_the_nearest_address_of_coordinates() {
    testkit::block_on(async {
        let app = start().await;
        let field = app.by_coordinates(52.2415, -3.3783).await.ok();
        assert_complete(&field);
        assert_eq!(field["coordinates"], json!({"lat": 52.2415, "lon": -3.3783}));
        assert_eq!(field["address"]["countryISO"], "GB");
        assert_eq!(field["address"]["countryName"], "United Kingdom");
        assert_eq!(field["address"]["regionISO"], "GB-POW");
        assert!(field["address"]["postcode"].as_str().unwrap().starts_with("LD"), "{field}");
    });
}

#[test]
fn distance_is_that_of_the_named_place() {
    testkit::block_on(async {
        let app = start().await;
        let brecon = app.search(&[("query", "Brecon")]).await.ok();
        let brecon = app.by_id("", brecon["id"].as_str().unwrap()).await.ok();
        assert_eq!(brecon.get("distanceKm"), None, "{brecon}");
        let degrees = |member: &str| brecon["coordinates"][member].as_f64().unwrap();
        let north = app.by_coordinates(degrees("lat") + 0.001, degrees("lon")).await.ok();
        assert_eq!((&north["address"]["name"], &north["distanceKm"]), (&json!("Brecon"), &json!(0.111)));
        let words = app.by_words(north["threeWords"].as_str().unwrap()).await.ok();
        assert_eq!(words.get("distanceKm"), None, "{words}");
    });
}

#[test]
fn places_at_sea_have_no_country() {
    testkit::block_on(async {
        let app = start().await;
        for (lat, lon) in [(0.0, 0.0), (90.0, 0.0), (45.0, -35.0), (57.6, -13.69)] {
            let location = app.by_coordinates(lat, lon).await.ok();
            assert!(location["distanceKm"].as_f64().unwrap() > 50.0, "{location}");
            let members: Vec<_> = location["address"].as_object().unwrap().keys().collect();
            assert_eq!(members, ["name"], "{location}");
        }
        for (lat, lon, country) in [(54.0789, -6.3764, "GB"), (54.03, -6.55, "IE"), (54.2905, -7.8792, "IE")]
        {
            let location = app.by_coordinates(lat, lon).await.ok();
            assert_eq!(location["address"]["countryISO"], country, "{location}");
        }
    });
}

#[test]
fn response_has_the_requested_coordinates() {
    testkit::block_on(async {
        let app = start().await;
        for (lat, lon) in [
            ("52.0565000001", "-2.7160000002"),
            ("52.0565000002", "-2.7160000001"),
            ("90", "180"),
            ("-90", "-180"),
            ("-0", "0"),
            ("5.2e1", "+2"),
        ] {
            let location = app.by_coordinates(lat, lon).await.ok();
            assert_complete(&location);
            let number = |text: &str| text.parse::<f64>().unwrap();
            assert_eq!(location["coordinates"]["lat"].as_f64(), Some(number(lat)), "{lat}");
            assert_eq!(location["coordinates"]["lon"].as_f64(), Some(number(lon)), "{lon}");
        }
    });
}

#[test]
fn rejects_invalid_coordinates() {
    testkit::block_on(async {
        let app = start().await;
        let path = "/v1/locations/coordinates";
        assert_eq!(app.get(path).send().await.errors(), ["lat required", "lon required"]);
        assert_eq!(app.by_coordinates("", "").await.errors(), ["lat required", "lon required"]);
        assert_eq!(app.by_coordinates("90.0001", "-180.1").await.errors(), ["lat range", "lon range"]);
        assert_eq!(app.by_coordinates("1e300", "-1e300").await.errors(), ["lat range", "lon range"]);
        for text in ["north", "NaN", "inf", "1,5", "1e400"] {
            assert_eq!(app.by_coordinates(text, text).await.errors(), ["lat type", "lon type"], "{text}");
        }
        let range = app.by_coordinates("91", "0").await.json();
        assert_eq!(range["validation"][0]["data"]["maximum"], 90);
    });
}

#[test]
fn words_resolve_to_their_cell() {
    testkit::block_on(async {
        let app = start().await;
        // A low-discrepancy sequence of points on the globe.
        let part = |i: u32, step: f64| (f64::from(i) * step).fract();
        for i in 1..60 {
            let (lat, lon) = (part(i, 0.754_877_666) * 180.0 - 90.0, part(i, 0.569_840_291) * 360.0 - 180.0);
            let encoded = app.by_coordinates(lat, lon).await.ok();
            let words = encoded["threeWords"].as_str().unwrap();
            let decoded = app.by_words(words).await.ok();
            assert_complete(&decoded);
            assert_eq!(decoded["threeWords"], words);
            let distance = |member: &str, requested: f64| {
                (decoded["coordinates"][member].as_f64().unwrap() - requested).abs()
            };
            // Half of the side of a cell, and rounding.
            assert!(
                distance("lat", lat) <= 0.000_046 && distance("lon", lon) <= 0.000_046,
                "{lat},{lon}: {decoded}"
            );
        }
    });
}

#[test]
fn words_may_have_any_case_and_spaces() {
    testkit::block_on(async {
        let app = start().await;
        let location = app.by_coordinates(52.0565, -2.716).await.ok();
        let words = location["threeWords"].as_str().unwrap();
        let plain = app.by_words(words).await.ok();
        for spelling in
            [words.to_uppercase(), words.replace('.', " "), format!("  {}", words.replace('.', " . "))]
        {
            assert_eq!(app.by_words(&spelling).await.ok(), plain, "{spelling}");
        }
    });
}

#[test]
fn rejects_unknown_words() {
    testkit::block_on(async {
        let app = start().await;
        for query in ["", "   "] {
            assert_eq!(app.by_words(query).await.errors(), ["query required"]);
        }
        assert_eq!(app.get("/v1/locations/three-words").send().await.errors(), ["query required"]);
        assert_eq!(app.by_words(&"x".repeat(1001)).await.errors(), ["query length"]);
        assert_eq!(app.by_words("a\nb.c.d").await.errors(), ["query format"]);
        for query in ["hello", "one.two", "a.b.c.d", "!!!", "🐄.🐄.🐄", "...", &"x".repeat(1000)] {
            let reply = app.by_words(query).await;
            assert!(reply.json()["validation"][0]["data"]["suggestions"].is_array(), "{}", reply.text());
            assert_eq!(reply.errors(), ["query format"], "{query}");
        }
    });
}

#[test]
fn suggests_similar_words() {
    testkit::block_on(async {
        let app = start().await;
        let location = app.by_coordinates(52.0565, -2.716).await.ok();
        let words = location["threeWords"].as_str().unwrap();
        let (first, rest) = words.split_once('.').unwrap();
        let (head, tail) = first.split_at(2);
        let reply = app.by_words(&format!("{head}q{tail}.{rest}")).await;
        let suggestions = reply.json()["validation"][0]["data"]["suggestions"].clone();
        let suggestions = suggestions.as_array().unwrap();
        assert!((1..=3).contains(&suggestions.len()), "{}", reply.text());
        assert!(suggestions.contains(&json!(words)), "{words}: {suggestions:?}");
        assert_eq!(app.by_words(suggestions[0].as_str().unwrap()).await.status, 200);
    });
}

#[test]
fn finds_addresses_by_id() {
    testkit::block_on(async {
        let app = start().await;
        let response = app.search(&[("query", "hr4 9ar")]).await.ok();
        let id = response["id"].as_str().unwrap();
        let location = app.by_id("gazetteer", id).await.ok();
        assert_complete(&location);
        assert_eq!(location["address"]["postcode"], "HR4 9AR");
        assert_eq!(location["address"]["regionISO"], "GB-HEF");
        for source in ["", " ", "GAZETTEER", " Gazetteer "] {
            assert_eq!(app.by_id(source, id).await.ok(), location, "{source:?}");
        }
        for query in ["HR1", "Hereford", "Ballina"] {
            let response = app.search(&[("query", query)]).await.ok();
            for (id, source) in all(&response, "id").into_iter().zip(all(&response, "source")) {
                assert_complete(&app.by_id(source, id).await.ok());
            }
        }
    });
}

#[test]
fn rejects_unknown_ids_and_sources() {
    testkit::block_on(async {
        let app = start().await;
        assert_eq!(app.get("/v1/locations/address").send().await.errors(), ["id required"]);
        assert_eq!(app.by_id("nowhere", "").await.errors(), ["id required", "source enum"]);
        assert_eq!(app.by_id("nowhere", "  ").await.errors(), ["id required", "source enum"]);
        for id in ["x", "place:1", "postcode:ZZ99ZZ", "🐄", "N1@52,-2"] {
            assert_eq!(app.by_id("gazetteer", id).await.error(404), "not_found", "{id}");
        }
        let reply = app.by_id("loqate", "x").await;
        let data: Value = reply.json()["validation"][0]["data"].clone();
        assert_eq!(data, json!({"allowed": ["gazetteer"]}));
        assert_eq!(reply.errors(), ["source enum"]);
        assert_eq!(app.by_id("gazetteer", &"x".repeat(201)).await.errors(), ["id length"]);
        assert_eq!(app.by_id("gazetteer", "a\0b").await.errors(), ["id format"]);
    });
}
