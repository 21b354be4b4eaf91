//! Addresses from a stub of Photon. Its responses follow Photon's documentation.

use serde_json::{Value, json};
use system::AddressProvider::Photon;
use wiremock::matchers::{path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{addresses_from, all, assert_complete, calls, start_with};

fn feature(lat: f64, lon: f64, properties: Value) -> Value {
    json!({"type": "Feature", "geometry": {"type": "Point", "coordinates": [lon, lat]}, "properties": properties})
}

fn town() -> Value {
    feature(
        52.055_381_3,
        -2.715_173_5,
        json!({"osm_type": "R", "osm_id": 10_206_194, "osm_key": "place", "osm_value": "city", "type": "city",
            "name": "Hereford", "county": "Herefordshire", "state": "England", "country": "United Kingdom",
            "countrycode": "GB", "extent": [-2.76, 52.08, -2.66, 52.03]}),
    )
}

fn texan() -> Value {
    feature(
        34.8151,
        -102.3978,
        json!({"osm_type": "R", "osm_id": 114_310, "osm_key": "place", "osm_value": "town", "type": "city",
            "name": "Hereford", "county": "Deaf Smith County", "state": "Texas", "country": "United States",
            "countrycode": "US"}),
    )
}

fn house() -> Value {
    feature(
        52.0541,
        -2.7169,
        json!({"osm_type": "W", "osm_id": 38_862_723, "osm_key": "building", "osm_value": "yes", "type": "house",
            "housenumber": "3", "street": "King Street", "postcode": "HR4 9BW", "city": "Hereford",
            "county": "Herefordshire", "state": "England", "country": "United Kingdom", "countrycode": "GB"}),
    )
}

/// Starts a stub with a town, a town of the same name abroad, a house and invalid features.
pub async fn stub() -> MockServer {
    let stub = MockServer::start().await;
    let mount = async |at: &str, name: &str, value: &str, features: &[Value]| {
        let response = json!({"type": "FeatureCollection", "features": features});
        let request = Mock::given(path(at)).and(query_param(name, value));
        request.respond_with(ResponseTemplate::new(200).set_body_json(response)).mount(&stub).await;
    };
    mount("/api", "q", "Hereford", &[town(), texan()]).await;
    mount("/api", "q", "3 King Street", &[house()]).await;
    mount("/api", "q", "nothing", &[]).await;
    let odd = json!({"osm_type": "N", "osm_id": 1, "name": "  Hay ", "postcode": null, "city": " ",
        "country": "Wales"});
    let (nameless, nowhere) = (json!({"osm_type": "N", "osm_id": 2}), json!({"osm_id": 3, "name": "x"}));
    let odd = [feature(52.0, -3.0, nameless), feature(91.0, 0.0, nowhere), feature(52.0, -3.1, odd)];
    mount("/api", "q", "odd", &odd).await;
    mount("/reverse", "lat", "52.0553813", &[house(), town()]).await;
    mount("/reverse", "lat", "52.0541", &[house()]).await;
    mount("/reverse", "lat", "-50", &[]).await;
    stub
}

#[test]
fn searches_addresses() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(addresses_from(Photon, &stub)).await;
        let response = app.search(&[("query", "Hereford")]).await.ok();
        assert_eq!(
            response["results"][0],
            json!({"id": "R10206194@52.0553813,-2.7151735", "type": "place", "text": "Hereford",
                "description": "Herefordshire, England, United Kingdom", "source": "photon"})
        );
        assert_eq!(all(&response, "source"), ["photon", "photon"]);
        let american = app.search(&[("query", "Hereford"), ("countryISO", "us")]).await.ok();
        assert_eq!(all(&american, "description"), ["Deaf Smith County, Texas, United States"]);
        let second = app.search(&[("query", "Hereford"), ("offset", "1")]).await.ok();
        assert_eq!(second["results"], american["results"]);
        let house = app.search(&[("query", "3 King Street")]).await.ok();
        assert_eq!((&house["type"], &house["text"]), (&json!("address"), &json!("3 King Street")));
        assert_eq!(app.search(&[("query", "nothing")]).await.ok(), json!({"results": []}));
        assert_eq!(app.search(&[("id", "R10206194@52,-2")]).await.error(404), "not_found");
    });
}

#[test]
fn finds_addresses_by_id() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(addresses_from(Photon, &stub)).await;
        let town = app.by_id("photon", "R10206194@52.0553813,-2.7151735").await.ok();
        assert_complete(&town);
        assert_eq!(town["coordinates"], json!({"lat": 52.055_381_3, "lon": -2.715_173_5}));
        assert_eq!(
            town["address"],
            json!({"name": "Hereford", "city": "Hereford", "region": "Herefordshire", "regionISO": "GB-HEF",
                "countryName": "United Kingdom", "countryISO": "GB"})
        );
        let house = app.by_id("photon", "W38862723@52.0541,-2.7169").await.ok();
        assert_eq!(house["address"]["line1"], "3 King Street");
        assert_eq!(house["address"]["postcode"], "HR4 9BW");
        let before = calls(&stub).await;
        for id in ["R10206194", "R10206194@", "R10206194@north,east", "R10206194@91,0", "@"] {
            assert_eq!(app.by_id("photon", id).await.error(404), "not_found", "{id}");
        }
        assert_eq!(calls(&stub).await, before, "invalid ids cause no call");
        assert_eq!(app.by_id("photon", "N1@52.0541,-2.7169").await.error(404), "not_found");
    });
}

#[test]
fn finds_the_nearest_address() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(addresses_from(Photon, &stub)).await;
        let house = app.by_coordinates(52.0541, -2.7170).await.ok();
        assert_complete(&house);
        assert_eq!(house["distanceKm"], 0.007, "{house}");
        assert_eq!(house["address"]["line1"], "3 King Street");
        assert_eq!(house["coordinates"], json!({"lat": 52.0541, "lon": -2.717}));
        // Photon finds nothing in the Southern Ocean.
        assert_complete(&app.by_coordinates(-50, 80).await.ok());
    });
}

#[test]
fn invalid_features_are_skipped() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(addresses_from(Photon, &stub)).await;
        let response = app.search(&[("query", "odd")]).await.ok();
        assert_eq!(all(&response, "text"), ["Hay"]);
        assert_eq!(all(&response, "description"), ["Wales"]);
    });
}
