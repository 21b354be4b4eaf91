//! Listings of the sample market: of all categories and states.

use anyhow::{Context, Result};
use chrono::{Days, Months, NaiveDate};
use serde_json::{Value, json};

use super::lots::{
    Animals, BEDDING, CATTLE, CATTLE_BREEDS, DOG_BREEDS, DOGS, Dog, FEED, Product, SHEEP, SHEEP_BREEDS,
};
use super::market::{Market, id_of};
use crate::market::random::Random;
use crate::market::seed::people::{FARMS, Farm, Person};
use crate::market::seed::photo::{self, Subject};
use crate::processes::http::Body;

/// Number of listings.
pub const COUNT: usize = 200;

/// Every so many-th listing is on the wishlist of the buyer.
const WISHLIST_PERIOD: usize = 23;
/// User id of the buyer.
const BUYER: &str = "tom";

/// Creates the listings that do not exist. Returns how many those are.
pub fn create(market: &Market<'_>, locations: &[Value]) -> Result<usize> {
    let existing = existing(market)?;
    let mut created = 0;
    for number in 1..=COUNT {
        let listing = listing(number, locations, market.today);
        if !existing.contains(&listing.tag) {
            create_one(market, number, listing).with_context(|| format!("listing {number}"))?;
            created += 1;
        }
    }
    Ok(created)
}

fn create_one(market: &Market<'_>, number: usize, listing: Listing) -> Result<()> {
    let Listing { farmer, path, mut body, photo, state, .. } = listing;
    if let Some((subject, name)) = photo {
        let png = photo::listing(subject, number)?;
        let file = market.upload(farmer, "image", &name, &format!("photograph-{number}"), png)?;
        body["files"] = json!([{"id": file}]);
    }
    let url = format!("{}/v1/listings", market.livestock);
    let created =
        market.post(farmer, &format!("{url}/{path}"), &format!("listing-{number}"), &Body::Json(body))?;
    let url = format!("{url}/{}", id_of(&created)?);
    if !["draft", "active"].contains(&state) {
        let body = Body::Json(json!({"status": state}));
        market.post(farmer, &format!("{url}/close"), &format!("close-{number}"), &body)?;
    }
    let buyer = buyer();
    if number.is_multiple_of(WISHLIST_PERIOD) && farmer != buyer && state != "draft" {
        market.put(buyer, &format!("{url}/wishlist"))?;
    }
    Ok(())
}

/// The CSV exports of all listings, drafts of the farms included.
fn existing(market: &Market<'_>) -> Result<String> {
    let export = |person: Person, status: &str| -> Result<String> {
        let url = format!("{}/v1/listings?format=CSV&f:status={status}", market.livestock);
        Ok(String::from_utf8_lossy(&market.get(person, &url)?.bytes).into_owned())
    };
    let mut all = String::new();
    for status in ["", "sold", "found", "cancelled"] {
        all += &export(buyer(), status)?;
    }
    for farm in &FARMS {
        all += &export(farm.person, "draft")?;
    }
    Ok(all)
}

fn buyer() -> Person {
    FARMS.iter().map(|farm| farm.person).find(|person| person.user == BUYER).unwrap_or(FARMS[0].person)
}

/// Draws an index with a probability in proportion to its share.
pub(super) fn weighted(random: &mut Random, shares: impl Iterator<Item = usize> + Clone) -> usize {
    let mut left = random.below(shares.clone().sum());
    shares
        .enumerate()
        .find(|(_, share)| {
            let here = left < *share;
            left = left.saturating_sub(*share);
            here
        })
        .map_or(0, |(index, _)| index)
}

/// A listing to create.
#[derive(Debug)]
pub struct Listing {
    /// Who creates it.
    pub farmer: Person,
    /// Last part of the path of the operation.
    pub path: &'static str,
    /// Request body.
    pub body: Value,
    /// What its photograph shows, and the name of that file.
    pub photo: Option<(Subject, String)>,
    /// Status that it ends with.
    pub state: &'static str,
    /// A tag that no other listing has.
    pub tag: String,
}

/// Members of a listing that depend on its category.
struct Offer {
    path: &'static str,
    category: u16,
    title: String,
    text: String,
    /// Lowest and highest usual price in pounds.
    price: (usize, usize),
    properties: Option<Value>,
    subject: Subject,
}

/// The listing with this number. `locations` are those of [`FARMS`].
pub fn listing(number: usize, locations: &[Value], today: NaiveDate) -> Listing {
    let random = &mut Random::of(number);
    let index = weighted(random, FARMS.iter().map(|farm| farm.share));
    let farm = &FARMS[index];
    let mut offer = match random.below(100) {
        0..45 => sheep(random, farm),
        45..76 => cattle(random, farm),
        76..85 => dog(random, today),
        85..94 => product(random, "feed", &FEED),
        _ => product(random, "bedding", &BEDDING),
    };
    let buying = random.percent(12);
    if buying {
        offer = wanted(offer);
    }
    let state = match random.below(100) {
        0..72 => "active",
        72..79 => "draft",
        79..93 if buying => "found",
        79..93 => "sold",
        _ => "cancelled",
    };
    let tag = format!("lot-{number:03}");
    let mut body = json!({
        "type": if buying { "buying" } else { "selling" },
        "isDraft": state == "draft",
        "categoryIds": [offer.category],
        "location": locations[index],
        "price": price(random, offer.price, locations[index]["address"]["countryISO"] == "IE"),
        "files": null,
        "description": format!("{}. {}", offer.title, offer.text),
        "tags": [random.one(&["autumn", "spring", "dispersal", "hill", "farm-assured"]), &tag],
    });
    if let Some(properties) = offer.properties {
        body["properties"] = properties;
    }
    let photo = (!buying && random.percent(85)).then_some((offer.subject, offer.title));
    Listing { farmer: farm.person, path: offer.path, body, photo, state, tag }
}

/// Turns an offer into a request for the same.
fn wanted(mut offer: Offer) -> Offer {
    "Collected from the farm, paid on the day.".clone_into(&mut offer.text);
    if let Some(properties) = &mut offer.properties {
        if offer.path == "working-dog" {
            properties["registration"] = Value::Null;
            offer.title = format!("{} to work sheep", properties["breed"].as_str().unwrap_or_default());
        }
        properties["title"] = json!(format!("Wanted: {}", offer.title));
    }
    Offer { title: format!("Wanted: {}", offer.title), ..offer }
}

/// A number in `low..=high`.
fn within(random: &mut Random, (low, high): (usize, usize)) -> usize {
    low + random.below(high - low + 1)
}

/// Most prices are fixed. Euros are a sixth more than pounds.
fn price(random: &mut Random, usual: (usize, usize), euro: bool) -> Value {
    let currency = if euro { "EUR" } else { "GBP" };
    let mut money = |usual| {
        let pounds = within(random, usual);
        let amount = if euro { pounds + pounds / 6 } else { pounds };
        // Farmers round.
        json!({"amount": if amount > 200 { amount / 10 * 10 } else { amount }, "currency": currency})
    };
    let middle = usual.0.midpoint(usual.1);
    let (lower, upper) = (money((usual.0, middle)), money((middle, usual.1)));
    match random.below(100) {
        0..12 => json!({"type": "poa"}),
        12..26 => json!({"type": "range", "minPrice": lower, "maxPrice": upper}),
        _ => json!({"type": "fixed", "pricePerUnit": if random.percent(50) { lower } else { upper }}),
    }
}

fn sheep(random: &mut Random, farm: &Farm) -> Offer {
    let lot = SHEEP[weighted(random, SHEEP.iter().map(|lot| lot.share))];
    let (mut offer, breed) = animals(random, lot, farm.sheep, &SHEEP_BREEDS);
    offer.properties = offer.properties.map(|mut properties| {
        properties["type"] = json!([lot.purpose]);
        if lot.info.contains(&"pedigree") {
            properties["breedSociety"] = json!(format!("{breed} Sheep Society"));
        }
        properties
    });
    Offer { path: "sheep", subject: Subject::Sheep, ..offer }
}

fn cattle(random: &mut Random, farm: &Farm) -> Offer {
    let lot = CATTLE[weighted(random, CATTLE.iter().map(|lot| lot.share))];
    let (mut offer, breed) = animals(random, lot, farm.cattle, &CATTLE_BREEDS);
    let clear = random.percent(90);
    let weight = 40 + 24 * lot.age.0.min(24);
    offer.properties = offer.properties.map(|mut properties| {
        properties["type"] = json!(lot.purpose);
        properties["health"] = json!({
            "tbStatus": if clear { "clear" } else { "restricted" },
            "tbInterval": random.one(&["12 months", "6 months", "48 months"]),
        });
        properties["performance"] =
            json!({"averageWeight": {"name": "kilogram", "conversion": 1, "weight": weight}});
        if lot.info.contains(&"pedigree") {
            properties["breedSociety"] = json!(format!("{breed} Cattle Society"));
        }
        properties
    });
    let black = ["Aberdeen Angus", "Galloway", "Welsh Black", "British Friesian", "Holstein Friesian"]
        .contains(&breed);
    Offer { path: "cattle", subject: Subject::Cattle { black }, ..offer }
}

/// An offer of sheep or cattle and their breed: usually that of the farm.
fn animals(
    random: &mut Random,
    lot: Animals,
    breed: &'static str,
    others: &[&'static str],
) -> (Offer, &'static str) {
    // The first of the others are the most common.
    let other = others[random.below(others.len()).min(random.below(others.len()))];
    let breed = if random.percent(60) { breed } else { other };
    // A mule is a cross.
    let breed = if lot.info.contains(&"pedigree") && breed.contains("Mule") { others[0] } else { breed };
    let crossed = lot.info.contains(&"crossbred");
    let quantity = within(random, lot.quantity);
    let age = within(random, lot.age);
    let oldest = (age + random.below(6)).min(lot.age.1).max(age);
    let noun = if quantity == 1 { lot.noun.trim_end_matches('s') } else { lot.noun };
    let cross = if crossed { " cross" } else { "" };
    let title = format!("{quantity} {breed}{cross} {noun}");
    let properties = json!({
        "title": title,
        "breed": breed,
        "breedType": if crossed { "cross" } else { "pure" },
        "sexes": lot.sexes,
        "additionalInfo": lot.info,
        "quantity": quantity,
        "minAge": age,
        "maxAge": oldest,
    });
    let offer = Offer {
        path: "",
        category: lot.category,
        title,
        text: lot.text.to_owned(),
        price: lot.price,
        properties: Some(properties),
        subject: Subject::Sheep,
    };
    (offer, breed)
}

fn dog(random: &mut Random, today: NaiveDate) -> Offer {
    let Dog { category, age, price, text } = random.one(&DOGS);
    let breed = if random.percent(75) { DOG_BREEDS[0] } else { random.one(&DOG_BREEDS) };
    let sex = random.one(&["male", "female"]);
    let name = random.one(&["Moss", "Meg", "Fly", "Roy", "Nell", "Cap", "Jess", "Glen", "Spot", "Tess"]);
    let months = u32::try_from(within(random, age)).unwrap_or_default();
    let birth = today - Months::new(months) - Days::new(random.below(28) as u64);
    let title = format!("{name}, {breed} {}", if sex == "male" { "dog" } else { "bitch" });
    let registered = random.percent(60);
    let number = format!("ISDS 00/{}", 330_000 + random.below(40_000));
    let registration = json!({
        "dateOfBirth": birth.to_string(),
        "isRegistered": registered,
        "registrationNumber": registered.then_some(number),
        "name": name,
    });
    Offer {
        path: "working-dog",
        category,
        title: title.clone(),
        text: text.to_owned(),
        price,
        properties: Some(json!({
            "title": title,
            "breed": breed,
            "breedType": "pure",
            "sex": sex,
            "registration": registration,
        })),
        subject: Subject::Dog,
    }
}

fn product(random: &mut Random, path: &'static str, of: &[Product]) -> Offer {
    let product = random.one(of);
    let quantity = within(random, product.quantity);
    let unit = if quantity == 1 { product.unit.to_owned() } else { format!("{}s", product.unit) };
    let subject = match product.category {
        401..=403 => Subject::Bales { wrapped: product.category != 401 },
        501 => Subject::Stack,
        category => Subject::Heap { pale: category >= 500 },
    };
    Offer {
        path,
        category: product.category,
        title: format!("{quantity} {unit} of {}", product.noun),
        text: format!("{} Price by the {}.", product.text, product.unit),
        price: product.price,
        properties: None,
        subject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_of_all_categories_and_states_and_the_same_in_each_run() {
        let locations = vec![json!({"address": {"countryISO": "GB"}}); FARMS.len()];
        let today = NaiveDate::from_ymd_opt(2026, 3, 1).unwrap();
        let all = || (1..=COUNT).map(|number| listing(number, &locations, today)).collect::<Vec<_>>();
        assert_eq!(format!("{:?}", all()), format!("{:?}", all()));
        let count = |is: &dyn Fn(&Listing) -> bool| all().iter().filter(|listing| is(listing)).count();
        for path in ["sheep", "cattle", "working-dog", "feed", "bedding"] {
            assert!(count(&|listing| listing.path == path) >= 8, "{path}");
        }
        for state in ["active", "draft", "sold", "found", "cancelled"] {
            assert!(count(&|listing| listing.state == state) >= 2, "{state}");
        }
        let own = count(&|listing| listing.farmer.org == "penybont-farm");
        assert!((8..40).contains(&own), "{own} of the first farm");
        assert!(count(&|listing| listing.photo.is_some()) > COUNT / 2);
        let euros = |listing: &Listing| listing.body["price"].to_string().contains("EUR");
        assert_eq!(count(&euros), 0);
    }

    #[test]
    fn shares_decide_how_often_an_index_is_drawn() {
        let mut random = Random(7);
        let mut drawn = [0; 3];
        for _ in 0..1_000 {
            drawn[weighted(&mut random, [8, 0, 2].into_iter())] += 1;
        }
        assert!(drawn[0] > 700 && drawn[1] == 0 && drawn[2] > 100, "{drawn:?}");
    }
}
