//! Random listings of three farms, in all categories and states.

use std::collections::HashSet;

use futures_util::{StreamExt, stream};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};
use testkit::{App, User};

const LISTINGS: usize = 2_000;
/// Concurrent requests.
const CONCURRENCY: usize = 16;
/// The user whose wishlist is searched.
pub const WISHER: &str = "a wisher";
/// A member that the model adds to a listing: whether it was ever published.
pub const PUBLISHED: &str = "wasPublished";
pub const FARMS: [&str; 3] = ["a", "b", "c"];
const NAMES: [&str; 4] = ["Acorn", "acorn", "Birch", "élan"];
pub const CATEGORIES: [&str; 5] = ["sheep", "cattle", "working-dog", "feed", "bedding"];
pub const TYPES: [&str; 4] = ["store", "Calves", "bulling_heifers", "100%"];
pub const BREEDS: [&str; 5] = ["Hereford", "Texel", "Our Own", "Cross", "Border Collie"];
pub const SEXES: [&str; 8] = ["ewes", "rams", "lambs", "shearlings", "heifers", "steers", "bulls", "cows"];
pub const INFO: [&str; 6] = ["crossbred", "in-lamb", "pedigree", "organic", "in-calf", "named-sire"];
/// Points around the Bristol Channel, across the world, at a pole and at the 180th meridian.
pub const PLACES: [(f64, f64); 12] = [
    (51.9469, -3.3915),
    (51.95, -3.39),
    (52.05, -2.7),
    (51.2, -3.1),
    (53.4, -1.2),
    (57.1, -4.2),
    (-17.8, 179.9),
    (-17.7, -179.9),
    (-36.8, 174.7),
    (89.9, 20.0),
    (0.0, 0.0),
    (-33.0, 151.0),
];

/// Words of texts, each less frequent than the one before.
pub const WORDS: [&str; 12] = [
    "quiet",
    "Sound,",
    "heifers",
    "TB-tested",
    "Café",
    "50%",
    "dispersal",
    "low_cost",
    "O'Neill",
    "\u{4f60}\u{597d}",
    "\\back",
    "\"rare\"",
];
pub const CITIES: [&str; 4] = ["Brecon", "Llan\u{177}n", "Builth Wells", "Hay"];
pub const POSTCODES: [&str; 4] = ["LD3 7EG", "ld23lh", "75008", "H91 E2K3"];

/// Returns a description. One in fifty has more words than the service keeps in memory.
fn description(rng: &mut StdRng) -> String {
    let word = |rng: &mut StdRng| {
        WORDS[(0..WORDS.len() - 1).find(|_| rng.random_bool(0.4)).unwrap_or(WORDS.len() - 1)]
    };
    let words = (0..rng.random_range(0..5)).map(|_| word(rng).to_owned()).collect::<Vec<_>>();
    let long = if rng.random_bool(0.02) { 0..250 } else { 0..0 };
    let words = words.into_iter().chain(long.map(|n| format!("word{n}")));
    words.collect::<Vec<_>>().join(one(rng, &[" ", "\n", "  "]))
}

/// Returns a random entry.
pub fn one<'a>(rng: &mut StdRng, of: &[&'a str]) -> &'a str {
    of.choose(rng).unwrap()
}

/// Returns random properties of a category, each present with a probability of about a half.
fn properties(rng: &mut StdRng, category: &str) -> Value {
    let mut properties = json!({});
    for name in ["breed", "breedType", "breedSociety"] {
        if rng.random_bool(0.5) {
            properties[name] = json!(one(rng, &BREEDS));
        }
    }
    if rng.random_bool(0.2) {
        properties["title"] = json!(format!("Lot {}", one(rng, &WORDS)));
    }
    if category == "working-dog" {
        let (year, month, day) =
            (rng.random_range(2010..2026), rng.random_range(1..=12), rng.random_range(1..=31));
        let born = format!("{year}-{month:02}-{:02}", day.min(if month == 2 { 28 } else { 30 }));
        if rng.random_bool(0.8) {
            properties["registration"] = json!({"dateOfBirth": born});
        }
        return properties;
    }
    let types: Vec<_> = TYPES.iter().filter(|_| rng.random_bool(0.3)).collect();
    properties["type"] = if category == "sheep" { json!(types) } else { json!(types.first()) };
    properties["sexes"] =
        json!(SEXES.iter().filter(|_| rng.random_bool(0.2)).copied().collect::<Vec<_>>().join(", "));
    properties["additionalInfo"] = json!(INFO.iter().filter(|_| rng.random_bool(0.2)).collect::<Vec<_>>());
    let mut ages =
        [rng.random_range(0..160), rng.random_range(0..160)].map(|quarters| f64::from(quarters) / 4.0);
    ages.sort_by(f64::total_cmp);
    for (name, age) in ["minAge", "maxAge"].into_iter().zip(ages) {
        if rng.random_bool(0.6) {
            properties[name] = json!(age);
        }
    }
    if rng.random_bool(0.6) {
        properties["quantity"] = json!(rng.random_range(1..12));
    }
    properties
}

/// Returns the request of a random listing.
fn listing(rng: &mut StdRng, category: &str) -> Value {
    let currency = one(rng, &["GBP", "EUR", "GBP"]);
    let money = |amount: i32| json!({"amount": f64::from(amount) / 10.0, "currency": currency});
    let low = rng.random_range(0..30);
    let price = match rng.random_range(0..3) {
        0 => json!({"type": "fixed", "pricePerUnit": money(low)}),
        1 => json!({"type": "range", "minPrice": money(low), "maxPrice": money(low + 9)}),
        _ => json!({"type": "poa"}),
    };
    let (lat, lon) = *PLACES.choose(rng).unwrap();
    let mut location = rng.random_bool(0.85).then(|| json!({"coordinates": {"lat": lat, "lon": lon}}));
    if let Some(location) = location.as_mut().filter(|_| rng.random_bool(0.5)) {
        let (city, postcode) = (one(rng, &CITIES), one(rng, &POSTCODES));
        location["address"] =
            json!({"name": "unsearched", "city": city, "region": "Powys", "postcode": postcode});
    }
    let mut listing = json!({
        "type": one(rng, &["selling", "buying"]), "isDraft": rng.random_bool(0.2), "categoryIds": [], "location": location,
        "price": price, "files": null, "description": description(rng), "tags": [one(rng, &WORDS)],
    });
    if !["feed", "bedding"].contains(&category) {
        listing["properties"] = properties(rng, category);
    }
    listing
}

/// What happens to a listing after its creation.
struct Fate {
    published: bool,
    closed: Option<&'static str>,
    wished: bool,
}

/// Creates a listing, publishes it, closes it and adds it to the wishlist as requested, and returns its final state.
async fn create(app: &App, user: &User, category: &str, listing: Value, fate: &Fate) -> Value {
    let made = app.post(&format!("/v1/listings/{category}")).by(user).json(&listing).send().await.ok();
    let path = format!("/v1/listings/{}", made["id"].as_str().unwrap());
    if fate.wished {
        app.call("PUT", &format!("{path}/wishlist")).by(&user.clone().with("sub", WISHER)).send().await.ok();
    }
    if fate.published && listing["isDraft"] == true {
        app.post(&format!("{path}/publish")).by(user).send().await.ok();
    }
    if let Some(status) = fate.closed {
        app.post(&format!("{path}/close")).by(user).json(&json!({"status": status})).send().await.ok();
    }
    let mut stored = app.get(&path).by(user).send().await.ok();
    stored[PUBLISHED] = json!(fate.published);
    stored
}

/// Creates all listings. Returns them, and the ids of those on the wishlist.
pub async fn fill(app: &App, rng: &mut StdRng) -> (Vec<Value>, HashSet<String>) {
    let mut requests = Vec::new();
    for _ in 0..LISTINGS {
        let user = User::of(one(rng, &FARMS)).with("orgName", one(rng, &NAMES));
        let category = one(rng, &CATEGORIES);
        let listing = listing(rng, category);
        let closed = ["sold", "found", "cancelled"].choose(rng).filter(|_| rng.random_bool(0.3)).copied();
        let published = listing["isDraft"] == false || rng.random_bool(0.4);
        let closed = closed.filter(|status| published || *status == "cancelled");
        requests.push((user, category, listing, Fate { published, closed, wished: rng.random_bool(0.2) }));
    }
    let made = stream::iter(requests).map(|(user, category, listing, fate)| async move {
        (create(app, &user, category, listing, &fate).await, fate.wished)
    });
    let made: Vec<_> = made.buffer_unordered(CONCURRENCY).collect().await;
    let id = |listing: &Value| listing["id"].as_str().unwrap().to_owned();
    let wishlist = made.iter().filter(|(_, wished)| *wished).map(|(listing, _)| id(listing)).collect();
    (made.into_iter().map(|(listing, _)| listing).collect(), wishlist)
}
