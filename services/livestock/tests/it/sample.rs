//! Fixtures of listings, and helpers to create and find them.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, User};

pub const CATTLE: &str = "/v1/listings/cattle";
pub const WORKING_DOG: &str = "/v1/listings/working-dog";

/// Starts a service whose system service is unreachable. Requests without files do not call it.
pub async fn start(backend: Backend) -> App {
    start_with(backend, |_| ()).await
}

/// Starts a service as [`start`] does, with other settings.
pub async fn start_with(backend: Backend, change: impl FnOnce(&mut Settings)) -> App {
    let mut settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
    change(&mut settings);
    App::start::<Livestock>(backend, settings).await
}

/// Returns a cattle listing with all members except files.
pub fn full() -> Value {
    json!({
        "type": "selling",
        "isDraft": false,
        "categoryIds": [206, 208],
        "location": {
            "threeWords": "amber.barn.clover",
            "address": {
                "name": "Lower House", "line1": "Lower House Farm", "line2": "Lane", "line3": "x", "city": "Brecon",
                "region": "Powys", "regionISO": "GB-POW", "postcode": "LD3 7EG", "countryName": "United Kingdom",
                "countryISO": "GB",
            },
            "coordinates": {"lat": 51.9469, "lon": -3},
        },
        "price": {
            "type": "range",
            "minPrice": {"amount": 1000.5, "currency": "GBP"},
            "maxPrice": {"amount": 1200, "currency": "GBP"},
        },
        "files": null,
        "description": "Twelve heifers,\nquiet to handle.",
        "tags": ["store", "hereford"],
        "properties": {
            "title": "Store heifers",
            "type": "store",
            "breed": "Hereford",
            "breedType": "cross",
            "breedSociety": "Hereford Cattle Society",
            "societyNumber": "HCS 12",
            "additionalInfo": ["crossbred", "in-calf"],
            "sexes": "heifers, steers",
            "quantity": 12,
            "minAge": 14,
            "maxAge": 18.5,
            "health": {"tbStatus": "restricted", "tbDetails": "March", "tbInterval": "unspecified", "data": "x"},
            "performance": {
                "averageWeight": {"name": "kilogram", "conversion": 1, "weight": 410},
                "dailyLiveWeightGain": {"name": "kilogram", "conversion": 1, "weight": 0.85},
            },
        },
    })
}

/// Returns for each category the path of its operation, its id, the id of a part of it, and all properties.
pub fn categories() -> [(&'static str, i32, i32, Option<Value>); 5] {
    let sheep = json!({
        "title": "Texel ewes", "type": ["store", "in-lamb ewes"], "breed": "Texel", "breedType": "cross",
        "breedSociety": "British Texel Sheep Society", "additionalInfo": ["in-lamb", "named-sire"], "sexes": "ewes, shearlings",
        "quantity": 40, "minAge": 13.5, "maxAge": 60, "health": {"data": "vaccinated"},
    });
    let dog = json!({
        "title": "Moss", "breed": "Border Collie", "breedType": "pure", "breedSociety": "Trials club", "sex": "male",
        "registration": {
            "dateOfBirth": "2021-05-04", "isRegistered": true, "registrationNumber": "00/123456", "name": "Moss II",
        },
    });
    [
        ("/v1/listings/sheep", 1, 103, Some(sheep)),
        (CATTLE, 2, 206, Some(full()["properties"].take())),
        (WORKING_DOG, 3, 301, Some(dog)),
        ("/v1/listings/feed", 4, 401, None),
        ("/v1/listings/bedding", 5, 501, None),
    ]
}

/// Returns a listing of a category with all members except files.
pub fn full_of(category: i32, properties: Option<Value>) -> Value {
    let listing = with(without(full(), "/properties"), "/categoryIds", json!([category]));
    properties.into_iter().fold(listing, |listing, properties| with(listing, "/properties", properties))
}

/// Returns a cattle listing with the required members only and these properties.
pub fn plain(properties: &Value) -> Value {
    json!({
        "type": "selling", "isDraft": false, "categoryIds": [], "location": null, "price": {"type": "poa"},
        "files": null, "description": "", "tags": [], "properties": properties,
    })
}

/// Replaces the value at a JSON pointer.
pub fn with(mut listing: Value, pointer: &str, value: Value) -> Value {
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    listing.pointer_mut(parent).unwrap()[member] = value;
    listing
}

/// Removes the member at a JSON pointer.
pub fn without(mut listing: Value, pointer: &str) -> Value {
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    listing.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(member).unwrap();
    listing
}

/// Creates a cattle listing and returns its id.
pub async fn create(app: &App, user: &User, listing: &Value) -> String {
    let made = app.post(CATTLE).by(user).json(listing).send().await.ok();
    made["id"].as_str().unwrap().to_owned()
}

/// Creates a listing with the operation of a path and reads it.
pub async fn create_and_read(app: &App, user: &User, path: &str, listing: &Value) -> Value {
    let reply = app.post(path).by(user).json(listing).send().await;
    let location = reply.header("location").to_owned();
    let id = reply.ok()["id"].as_str().unwrap().to_owned();
    assert_eq!(location, format!("{}/v1/listings/{id}", app.url), "{path}");
    app.get(&format!("/v1/listings/{id}")).by(user).send().await.ok()
}

/// Returns the ids that a search finds.
pub async fn search(app: &App, user: &User, query: &str) -> Vec<String> {
    ids(&app.get(&format!("/v1/listings?{query}")).by(user).send().await.ok())
}

pub fn ids(listings: &Value) -> Vec<String> {
    listings.as_array().unwrap().iter().map(|l| l["id"].as_str().unwrap().to_owned()).collect()
}
