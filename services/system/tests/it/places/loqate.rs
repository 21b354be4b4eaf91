//! Addresses from a stub of the Loqate Capture API. Its responses follow Loqate's documentation.

use serde_json::{Value, json};
use system::AddressProvider::Loqate;
use wiremock::matchers::{path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{KEY, addresses_from, all, assert_complete, calls, start_with};

pub const FIND: &str = "/Capture/Interactive/Find/v1.1/json3.ws";
pub const RETRIEVE: &str = "/Capture/Interactive/Retrieve/v1.2/json3.ws";

/// Starts a stub with a container, three addresses and errors.
pub async fn stub() -> MockServer {
    let stub = MockServer::start().await;
    let mount = async |at: &str, name: &str, value: &str, items: Value| {
        let request = Mock::given(path(at)).and(query_param(name, value)).and(query_param("Key", KEY));
        let items = ResponseTemplate::new(200).set_body_json(json!({ "Items": items }));
        request.respond_with(items).mount(&stub).await;
    };
    let item = |id: &str, kind: &str, text: &str, description: &str| json!({"Id": id, "Type": kind, "Text": text, "Highlight": "0-3", "Description": description});
    let container = "GB|RM|ENG|9AR-HR4";
    let postcode = item(container, "Postcode", "HR4 9AR", "King Street, Hereford - 3 Addresses");
    let house =
        |n: u8| item(&format!("GB|RM|B|{n}"), "Address", &format!("{n} King Street"), "Hereford, HR4 9AR");
    mount(FIND, "Container", container, json!([house(1), house(2), house(3)])).await;
    mount(FIND, "Text", "hr4 9ar", json!([postcode, house(1)])).await;
    mount(FIND, "Text", "nothing", json!([])).await;
    let error = |number: &str, description: &str| {
        json!([{"Error": number, "Description": description, "Cause": "See the description.",
            "Resolution": "None"}])
    };
    mount(FIND, "Container", "unknown", error("1002", "Container Invalid")).await;
    mount(RETRIEVE, "Id", "unknown", error("1001", "Id Invalid")).await;
    mount(RETRIEVE, "Id", "refused", error("2", &format!("Unknown key {KEY}"))).await;
    let address = |id: &str, lat: &str, lon: &str| {
        json!([{"Id": id, "DomesticId": "1", "Language": "ENG", "Company": "Left Bank", "BuildingNumber": "1",
            "Street": "King Street", "District": "", "City": "Hereford", "Line1": "1 King Street", "Line2": "",
            "Line3": null,
            "ProvinceName": "Herefordshire", "ProvinceCode": "", "Province": "Herefordshire",
            "PostalCode": "HR4 9AR", "CountryName": "United Kingdom", "CountryIso2": "GB", "CountryIso3": "GBR",
            "Type": "Commercial", "DataLevel": "Premise", "Field1": lat, "Field2": lon}])
    };
    mount(RETRIEVE, "Id", "GB|RM|B|1", address("GB|RM|B|1", "52.0538", "-2.7173")).await;
    mount(RETRIEVE, "Id", "GB|RM|B|2", address("GB|RM|B|2", "", "")).await;
    stub
}

#[test]
fn searches_and_lists_containers() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        let response = app.search(&[("query", "HR4 9AR".to_lowercase().as_str())]).await.ok();
        assert_eq!(all(&response, "type"), ["container", "address"]);
        assert_eq!(
            response["results"][0],
            json!({"id": "GB|RM|ENG|9AR-HR4", "type": "container", "text": "HR4 9AR",
                "description": "King Street, Hereford - 3 Addresses", "source": "loqate"})
        );
        let inside = app.search(&[("id", "GB|RM|ENG|9AR-HR4"), ("limit", "2"), ("offset", "1")]).await.ok();
        assert_eq!(all(&inside, "text"), ["2 King Street", "3 King Street"]);
        assert_eq!(app.search(&[("query", "nothing")]).await.ok(), json!({"results": []}));
        assert_eq!(app.search(&[("id", "unknown")]).await.error(404), "not_found");
        let requests = stub.received_requests().await.unwrap();
        let limits =
            requests.iter().filter(|r| r.url.query_pairs().any(|(k, v)| k == "Limit" && v == "4")).count();
        assert_eq!(limits, 1, "offset, page and one more match");
    });
}

#[test]
fn country_is_sent_to_the_provider() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        app.search(&[("query", "hr4 9ar"), ("countryISO", "gb")]).await.ok();
        let requests = stub.received_requests().await.unwrap();
        assert!(requests[0].url.query_pairs().any(|(name, value)| name == "Countries" && value == "GB"));
    });
}

#[test]
fn finds_addresses_by_id() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        for source in ["loqate", "LOQATE", ""] {
            let location = app.by_id(source, "GB|RM|B|1").await.ok();
            assert_complete(&location);
            assert_eq!(location["coordinates"], json!({"lat": 52.0538, "lon": -2.7173}));
            assert_eq!(
                location["address"],
                json!({"name": "Left Bank", "line1": "1 King Street", "city": "Hereford",
                    "region": "Herefordshire", "regionISO": "GB-HEF", "postcode": "HR4 9AR",
                    "countryName": "United Kingdom", "countryISO": "GB"})
            );
        }
        assert_eq!(app.by_id("loqate", "unknown").await.error(404), "not_found");
        assert_eq!(app.by_id("photon", "x").await.errors(), ["source enum"]);
        let embedded = app.by_id("gazetteer", "postcode:HR49AR").await.ok();
        assert_eq!(embedded["address"]["postcode"], "HR4 9AR");
    });
}

#[test]
fn address_without_coordinates_gets_those_of_its_postcode() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        let location = app.by_id("loqate", "GB|RM|B|2").await.ok();
        assert_complete(&location);
        let lat = location["coordinates"]["lat"].as_f64().unwrap();
        assert!((lat - 52.055).abs() < 0.01, "{location}");
    });
}

#[test]
fn nearest_place_comes_from_the_gazetteer() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        assert_complete(&app.by_coordinates(52.2415, -3.3783).await.ok());
        assert_eq!(calls(&stub).await, 0);
    });
}

#[test]
fn refused_keys_are_unavailable_dependencies() {
    testkit::block_on(async {
        let stub = stub().await;
        let app = start_with(addresses_from(Loqate, &stub)).await;
        let reply = app.by_id("loqate", "refused").await;
        assert!(!reply.text().contains(KEY), "{}", reply.text());
        assert!(reply.json()["message"].as_str().unwrap().starts_with("The address provider"));
        assert_eq!(reply.error(503), "dependency_unavailable");
    });
}
