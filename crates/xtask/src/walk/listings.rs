//! Steps of two farmers: one offers cattle, the other finds them.

use anyhow::Result;
use serde_json::{Value, json};

use super::people::People;
use super::samples::HEIFERS;
use super::{Walk, check};

const PRICE: u32 = 1450;

/// A listing with a photograph is created, found and read.
pub fn run(walk: &mut Walk, people: &People) -> Result<()> {
    walk.step("A farmer uploads a photograph of her heifers");
    let file = walk.upload(&people.farmer, "images", "image", &HEIFERS)?;
    let photo = check::text(&file, "/id")?;

    walk.step("The farmer offers them for sale");
    let body = listing(photo, &walk.stamp);
    let created =
        walk.post(Some(&people.farmer), &format!("{}/v1/listings/cattle", walk.livestock), body, 200)?;
    check::equal(&created, "/status", "success")?;
    check::uuid(&created, "/id")?;
    let id = check::text(&created, "/id")?;

    walk.step("Another farm searches for cattle on offer");
    let url =
        format!("{}/v1/listings?f:commodityType=cattle&f:status=active-selling&limit=2", walk.livestock);
    let found = walk.get(Some(&people.neighbour), &url, 200)?;
    check::contains_id(&found, "", id)?;

    walk.step("The other farm reads the listing and looks at the photograph");
    let read = walk.get(Some(&people.neighbour), &format!("{}/v1/listings/{id}", walk.livestock), 200)?;
    check::equal(&read, "/status", "active")?;
    check::equal(&read, "/type", "selling")?;
    check::equal(&read, "/organisationId", people.farmer.org)?;
    check::equal(&read, "/price/pricePerUnit/amount", PRICE)?;
    check::equal(&read, "/location/coordinates/lat", 51.9469)?;
    check::equal(&read, "/properties/quantity", 12)?;
    check::equal(&read, "/files/0/name", check::text(&file, "/info/name")?)?;
    walk.download(&people.neighbour, check::text(&read, "/files/0/url")?, &HEIFERS)
}

/// Heifers for sale, as they are sent.
pub fn listing(photo: &str, stamp: &str) -> Value {
    json!({
        "type": "selling",
        "isDraft": false,
        "categoryIds": [2],
        "location": {
            "address": {"city": "Brecon", "region": "Powys", "postcode": "LD3 7EG", "countryISO": "GB"},
            "coordinates": {"lat": 51.9469, "lon": -3.3915},
        },
        "price": {"type": "fixed", "pricePerUnit": {"amount": PRICE, "currency": "GBP"}},
        "files": [{"id": photo}],
        "description": format!("Twelve strong store heifers, Hereford cross, quiet to handle. Ref {stamp}."),
        "tags": ["store", "hereford"],
        "properties": {
            "type": "store",
            "breedType": "cross",
            "additionalInfo": ["crossbred"],
            "sexes": "heifers",
            "quantity": 12,
            "minAge": 14,
            "maxAge": 18,
            "health": {"tbStatus": "clear", "tbDetails": "tested in March", "tbInterval": "12 months"},
            "performance": {"averageWeight": {"name": "kilogram", "conversion": 1, "weight": 410}},
        },
    })
}
