//! Address search in the gazetteer.

use serde_json::{Value, json};
use system::Settings;

use super::{Places, all, start, start_with};
use crate::cache::empty_cache;

#[test]
fn finds_towns() {
    testkit::block_on(async {
        let app = start().await;
        let response = app.search(&[("query", "Hereford")]).await.ok();
        let best = &response["results"][0];
        assert_eq!((&best["text"], &best["type"]), (&json!("Hereford"), &json!("place")));
        assert_eq!(best["source"], "gazetteer");
        assert!(best["description"].as_str().unwrap().contains("Herefordshire"), "{best}");
        for member in ["id", "type", "text", "description", "source"] {
            assert_eq!(response[member], best[member], "{member}");
        }
        assert_eq!(response.as_object().unwrap().len(), 6);
        assert!(all(&response, "id").len() > 1 && all(&response, "id").len() <= 10);
        assert_eq!(app.search(&[("query", "  HEREFORD ")]).await.ok(), response);
    });
}

#[test]
fn finds_postcodes_and_misspelt_names() {
    testkit::block_on(async {
        let app = start().await;
        let best_match = async |query: &str| app.search(&[("query", query)]).await.ok();
        for query in ["hr4 9ar", "HR49AR"] {
            let response = best_match(query).await;
            assert_eq!(
                (&response["type"], &response["text"]),
                (&json!("postcode"), &json!("HR4 9AR")),
                "{query}"
            );
        }
        let district = best_match("HR1").await;
        assert_eq!((&district["type"], &district["text"]), (&json!("container"), &json!("HR1")));
        assert_eq!(best_match("herefrod").await["text"], "Hereford");
        let ballina = best_match("Ballina").await;
        assert_eq!(ballina["text"], "Ballina");
        assert!(ballina["description"].as_str().unwrap().ends_with("Ireland"), "{ballina}");
    });
}

#[test]
fn enabled_countries_come_first_also_from_redis() {
    testkit::block_on(async {
        let app = start().await;
        for (query, description) in [
            ("Perth", "Perth and Kinross, Scotland, United Kingdom"),
            ("Boston", "Lincolnshire, England, United Kingdom"),
            ("Tramore", "Waterford, Ireland"),
            ("Whitchurch Hampshire", "Hampshire, England, United Kingdom"),
        ] {
            let response = app.search(&[("query", query)]).await.ok();
            assert_eq!(response["text"], query.split(' ').next().unwrap());
            assert_eq!(response["description"], description);
        }
        let id = |response: &Value| response["id"].as_str().unwrap().to_owned();
        let perths = app.search(&[("query", "Perth")]).await.ok();
        assert!(all(&perths, "description")[1].ends_with("Australia"), "{perths}");
        let page = app.search(&[("query", "Perth"), ("limit", "1"), ("offset", "1")]).await.ok();
        assert_eq!(page["results"][0], perths["results"][1]);
        // Deployments with other enabled countries can share the cache.
        let shared = empty_cache(&testkit::redis_url());
        let start_enabling = async |enabled: &[&str]| {
            let enabled_countries = enabled.iter().map(|iso| (*iso).to_owned()).collect();
            start_with(Settings { enabled_countries, ..shared.clone() }).await
        };
        let best_id = async |app: &Places| id(&app.search(&[("query", "Perth")]).await.ok());
        let (british, australian) = (start_enabling(&["gb", "IE"]).await, start_enabling(&["AU"]).await);
        for _ in 0..2 {
            assert_eq!(best_id(&british).await, "place:2640358");
            assert_eq!(best_id(&australian).await, "place:2063523");
        }
        assert_eq!(best_id(&start_enabling(&["CA"]).await).await, "place:6101546");
    });
}

#[test]
fn coordinates_are_a_query() {
    testkit::block_on(async {
        let app = start().await;
        for query in ["51.9469,-3.3915", "51.9469 -3.3915", "51.9469N, 3.3915W"] {
            let point = app.search(&[("query", query), ("countryISO", "gb")]).await.ok();
            assert_eq!((&point["type"], &point["text"]), (&json!("place"), &json!("51.9469,-3.3915")));
            assert!(point["description"].as_str().unwrap().ends_with("Powys, United Kingdom"), "{point}");
            let location = app.by_id("", point["id"].as_str().unwrap()).await.ok();
            assert_eq!(location["coordinates"], json!({"lat": 51.9469, "lon": -3.3915}));
        }
        let abroad = app.search(&[("query", "51.9469,-3.3915"), ("countryISO", "IE")]).await.ok();
        assert_eq!(abroad, json!({"results": []}));
        for id in ["point:51.94690,-3.3915", "point:91,0", "point:", "country:FR"] {
            assert_eq!(app.by_id("", id).await.error(404), "not_found", "{id}");
        }
        let man = app.search(&[("query", "Isle of Man")]).await.ok();
        assert_eq!((&man["id"], &man["type"]), (&json!("country:IM"), &json!("container")));
        let inside = app.search(&[("id", "country:IM"), ("query", "ramsey")]).await.ok();
        assert_eq!(inside["text"], "Ramsey", "{inside}");
        let first = app.search(&[("id", "country:IM")]).await.ok();
        assert_eq!(first["text"], "Douglas", "{first}");
    });
}

#[test]
fn unmatched_searches_return_no_results() {
    testkit::block_on(async {
        let app = start().await;
        for query in ["xqzvwkj plmokn", &"word ".repeat(100)] {
            assert_eq!(app.search(&[("query", query)]).await.ok(), json!({"results": []}), "{query}");
        }
        let beyond = app.search(&[("query", "Hereford"), ("offset", "1000000")]).await.ok();
        assert_eq!(beyond, json!({"results": []}));
    });
}

#[test]
fn container_ids_list_contents() {
    testkit::block_on(async {
        let app = start().await;
        let id = app.search(&[("query", "HR1")]).await.ok()["id"].as_str().unwrap().to_owned();
        let inside = app.search(&[("id", &id), ("limit", "3")]).await.ok();
        assert_eq!(all(&inside, "id").len(), 3);
        let next = app.search(&[("id", &id), ("limit", "3"), ("offset", "2")]).await.ok();
        assert_eq!(next["results"][0], inside["results"][2]);
        let links =
            app.search(&[("id", &id), ("limit", "3"), ("offset", "2")]).await.header("link").to_owned();
        for (position, relation) in [("", "first"), ("&offset=0", "prev"), ("&offset=5", "next")] {
            assert!(links.contains(&format!("&limit=3{position}>; rel=\"{relation}\"")), "{links}");
        }
        let last = app.search(&[("id", &id), ("offset", "999999")]).await;
        assert!(!last.header("link").contains("next"), "{}", last.header("link"));
        let postcodes = app.search(&[("id", &id), ("query", "hr1 1")]).await.ok();
        assert!(all(&postcodes, "text").iter().all(|text| text.starts_with("HR1 1")), "{postcodes}");
        let elsewhere = app.search(&[("id", &id), ("query", "Ballina")]).await.ok();
        assert_eq!(elsewhere, json!({"results": []}));
    });
}

#[test]
fn country_restricts_matches() {
    testkit::block_on(async {
        let app = start().await;
        let response = app.search(&[("query", "Hereford"), ("countryISO", "us")]).await.ok();
        assert!(
            all(&response, "description").iter().all(|text| text.ends_with("United States")),
            "{response}"
        );
        assert_eq!(app.search(&[("query", "Hereford"), ("countryISO", "US")]).await.ok(), response);
        let everywhere = app.search(&[("query", "Hereford"), ("countryISO", "")]).await.ok();
        assert_eq!(everywhere, app.search(&[("query", "Hereford")]).await.ok());
    });
}

#[test]
fn rejects_invalid_parameters() {
    testkit::block_on(async {
        let app = start().await;
        for empty in [
            vec![],
            vec![("query", "")],
            vec![("query", "  ")],
            vec![("query", "!!! …")],
            vec![("query", " "), ("id", "")],
        ] {
            assert_eq!(app.search(&empty).await.errors(), ["query required"], "{empty:?}");
        }
        let long = "x".repeat(1001);
        let wrong = [("query", long.as_str()), ("countryISO", "UK"), ("limit", "101"), ("offset", "-1")];
        let expected = ["countryISO enum", "limit range", "offset range", "query length"];
        assert_eq!(app.search(&wrong).await.errors(), expected);
        assert_eq!(app.search(&[("query", "a\u{7}b")]).await.errors(), ["query format"]);
        assert_eq!(app.search(&[("id", "a\u{7}b")]).await.errors(), ["id format"]);
        assert_eq!(app.search(&[("query", "x"), ("limit", "0")]).await.errors(), ["limit range"]);
        assert_eq!(app.search(&[("query", "x"), ("limit", "many")]).await.errors(), ["limit type"]);
        assert_eq!(app.search(&[("query", &"x".repeat(1000))]).await.status, 200);
    });
}

#[test]
fn unknown_containers_are_not_found() {
    testkit::block_on(async {
        let app = start().await;
        for id in ["nothing", "district:XX99", "place:1", "region:GB-XXX", "🐄"] {
            assert_eq!(app.search(&[("id", id)]).await.error(404), "not_found", "{id}");
        }
        let both = app.search(&[("id", "nothing"), ("countryISO", "UK")]).await;
        assert_eq!(both.errors(), ["countryISO enum"], "parameters are validated first");
    });
}
