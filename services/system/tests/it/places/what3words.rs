//! Three words from a stub of the what3words API. Its responses follow the documentation of version 3.

use serde_json::{Value, json};
use wiremock::matchers::{header, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{KEY, assert_complete, calls, start_with, words_from};

fn square(words: &str, lat: f64, lng: f64) -> Value {
    json!({"country": "GB", "square": {"southwest": {"lng": lng - 0.00002, "lat": lat - 0.00001},
        "northeast": {"lng": lng + 0.00002, "lat": lat + 0.00001}}, "nearestPlace": "Bayswater, London",
        "coordinates": {"lng": lng, "lat": lat}, "words": words, "language": "en",
        "map": format!("https://w3w.co/{words}")})
}

/// Starts a stub with one square, suggestions for a misspelling and a refused key.
pub async fn stub() -> MockServer {
    let stub = MockServer::start().await;
    let mount = async |at: &str, name: &str, value: &str, status: u16, body: Value| {
        let request = Mock::given(path(at)).and(query_param(name, value)).and(header("X-Api-Key", KEY));
        request.respond_with(ResponseTemplate::new(status).set_body_json(body)).mount(&stub).await;
    };
    let (words, body) = ("filled.count.soap", square("filled.count.soap", 51.520_847, -0.195_521));
    mount("/v3/convert-to-coordinates", "words", words, 200, body.clone()).await;
    mount("/v3/convert-to-3wa", "coordinates", "51.52085,-0.19552", 200, body).await;
    let refused = json!({"error": {"code": "BadWords", "message": "words must be a valid 3 word address"}});
    mount("/v3/convert-to-coordinates", "words", "filled.count.sope", 400, refused).await;
    let near = |words: &str, rank| {
        json!({"country": "GB", "nearestPlace": "Bayswater, London", "words": words, "rank": rank,
            "language": "en"})
    };
    let suggested = json!({"suggestions": [near("filled.count.soap", 1), near("filled.count.slope", 2)]});
    mount("/v3/autosuggest", "input", "filled.count.sope", 200, suggested).await;
    let invalid =
        json!({"error": {"code": "InvalidKey", "message": "Authentication failed; invalid API key"}});
    mount("/v3/convert-to-coordinates", "words", "whose.key.is", 401, invalid).await;
    stub
}

#[test]
fn decodes_words() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(words_from(&stub)).await;
        let location = app.by_words("Filled Count Soap").await.ok();
        assert_complete(&location);
        assert_eq!(location["threeWords"], "filled.count.soap");
        assert_eq!(location["coordinates"], json!({"lat": 51.520_847, "lon": -0.195_521}));
        assert_eq!(location["address"]["countryISO"], "GB");
        assert_eq!(calls(&stub).await, 1);
    });
}

#[test]
fn encodes_coordinates() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(words_from(&stub)).await;
        let location = app.by_coordinates(51.52085, -0.19552).await.ok();
        assert_complete(&location);
        assert_eq!(location["threeWords"], "filled.count.soap");
        assert_eq!(location["coordinates"], json!({"lat": 51.52085, "lon": -0.19552}));
    });
}

#[test]
fn unknown_words_are_rejected_with_suggestions() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(words_from(&stub)).await;
        let reply = app.by_words("filled.count.sope").await;
        let data = reply.json()["validation"][0]["data"].clone();
        assert_eq!(data, json!({"suggestions": ["filled.count.soap", "filled.count.slope"]}));
        assert_eq!(reply.errors(), ["query format"]);
        assert_eq!(calls(&stub).await, 2);
        for query in ["filled.count", "filled.count.soap.and", "..."] {
            let reply = app.by_words(query).await;
            assert_eq!(reply.json()["validation"][0]["data"], json!({"suggestions": []}));
            assert_eq!(reply.errors(), ["query format"], "{query}");
        }
        assert_eq!(calls(&stub).await, 2, "texts without three parts cause no call");
    });
}

#[test]
fn refused_keys_are_unavailable_dependencies() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(words_from(&stub)).await;
        let reply = app.by_words("whose.key.is").await;
        assert!(reply.json()["message"].as_str().unwrap().starts_with("The three-word provider"));
        assert!(!reply.header("retry-after").is_empty());
        assert_eq!(reply.error(503), "dependency_unavailable");
    });
}

#[test]
fn grid_is_never_a_fallback() {
    testkit::block_on(async {
        let stub = MockServer::start().await;
        let settings = system::Settings { address_fallback: true, ..words_from(&stub) };
        let app = start_with(settings).await;
        assert_eq!(app.by_words("filled.count.soap").await.status, 503);
        assert_eq!(app.by_coordinates(52, -3).await.status, 503);
        assert_eq!(app.by_id("", "postcode:HR49AR").await.status, 503);
        assert_eq!(
            app.search(&[("query", "Hereford")]).await.status,
            200,
            "results of a search have no words"
        );
    });
}
