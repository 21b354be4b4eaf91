//! Listings for the benchmark, the same in every run.

use serde_json::{Value, json};

use super::loads_data::POSTCODES;
use crate::random::Random;

/// So many organisations, `org-0` and on.
pub const ORGANISATIONS: usize = 5_000;
/// Has one listing of a hundred, and a share as the others have.
pub const LARGE: &str = "org-0";
/// Is the breed of about one listing in two thousand.
pub const RARE: &str = "Breed 80";
/// Of so many listings one is closed and one a draft.
pub const PERIOD: usize = 50;

/// What sheep, then cattle, can be.
pub const SEXES: [&str; 8] = ["ewes", "rams", "lambs", "shearlings", "heifers", "steers", "bulls", "cows"];
/// What else can be said of them.
pub const INFO: [&str; 6] = ["crossbred", "in-lamb", "pedigree", "organic", "in-calf", "named-sire"];
const TYPES: [&str; 6] = ["store", "calves", "breeding", "finished", "cull", "weaned"];
const CITIES: [&str; 6] = ["Brecon", "Ludlow", "Skipton", "Penrith", "Oban", "Truro"];

/// A listing to create.
#[derive(Debug)]
pub struct Listing {
    /// Number of the organisation that does.
    pub organisation: usize,
    /// The operation.
    pub path: &'static str,
    /// What is sent.
    pub body: Value,
}

/// The listing with this number.
pub fn listing(number: usize) -> Listing {
    let random = &mut Random::of(number);
    let organisation = if random.percent(1) { 0 } else { random.below(ORGANISATIONS) };
    let (path, category, part, common) = match random.below(100) {
        0..40 => ("sheep", 1, 101 + random.below(9), ["Texel", "Suffolk", "Swaledale"]),
        40..75 => ("cattle", 2, 201 + random.below(10), ["Hereford", "Limousin", "Aberdeen Angus"]),
        75..85 => ("working-dog", 3, 301 + random.below(3), ["Border Collie", "Kelpie", "Huntaway"]),
        85..95 => ("feed", 4, 401 + random.below(7), [""; 3]),
        _ => ("bedding", 5, 501 + random.below(4), [""; 3]),
    };
    let mut body = json!({
        "type": if random.percent(10) { "buying" } else { "selling" },
        "isDraft": number % PERIOD == 1,
        "categoryIds": [category, part],
        "location": location(random),
        "price": price(random),
        "files": null,
        "description": format!("Lot {number}: sound, quiet to handle, to be seen by appointment."),
        "tags": [random.one(&["spring", "autumn", "dispersal"])],
    });
    if category <= 3 {
        body["properties"] = properties(random, category, common);
    }
    Listing { organisation, path, body }
}

/// Anywhere in Great Britain or the sea around it; three of a hundred say nothing.
fn location(random: &mut Random) -> Value {
    if random.percent(3) {
        return Value::Null;
    }
    let (lat, lon) = (random.between((50.0, 58.5)), random.between((-5.5, 1.5)));
    json!({
        "address": {"city": random.one(&CITIES), "postcode": random.one(&POSTCODES), "countryISO": "GB"},
        "coordinates": {"lat": lat, "lon": lon},
    })
}

fn price(random: &mut Random) -> Value {
    let mut pounds = |more: usize| json!({"amount": 20 + random.below(3_980) + more, "currency": "GBP"});
    let (lower, upper) = (pounds(0), pounds(4_000));
    match random.below(100) {
        0..15 => json!({"type": "poa"}),
        15..30 => json!({"type": "range", "minPrice": lower, "maxPrice": upper}),
        _ => json!({"type": "fixed", "pricePerUnit": lower}),
    }
}

fn properties(random: &mut Random, category: usize, common: [&str; 3]) -> Value {
    let breed = match random.below(1_000) {
        0 => RARE.to_owned(),
        1..300 => common[0].to_owned(),
        300..400 => random.one(&common[1..]).to_owned(),
        _ => format!("Breed {}", 1 + random.below(79)),
    };
    let mut properties =
        json!({"breed": breed, "breedType": if random.percent(30) { "cross" } else { "pure" }});
    if random.percent(30) {
        properties["breedSociety"] = json!(format!("Society {}", 1 + random.below(40)));
    }
    if category == 3 {
        let [year, month, day] = [2014 + random.below(12), 1 + random.below(12), 1 + random.below(28)];
        properties["sex"] = json!(random.one(&["male", "female"]));
        properties["registration"] = json!({"dateOfBirth": format!("{year}-{month:02}-{day:02}")});
        return properties;
    }
    let kind = random.one(&TYPES);
    properties["type"] = if category == 1 { json!([kind]) } else { json!(kind) };
    properties["sexes"] = json!(random.one(&SEXES[(category - 1) * 4..][..4]));
    properties["additionalInfo"] = json!(INFO.iter().filter(|_| random.percent(15)).collect::<Vec<_>>());
    properties["quantity"] = json!(1 + random.below(120));
    let age = random.below(60);
    properties["minAge"] = json!(age);
    properties["maxAge"] = json!(age + random.below(12));
    properties
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_of_all_kinds_and_the_same_in_every_run() {
        let all = || (0..5_000).map(listing).collect::<Vec<_>>();
        assert_eq!(format!("{:?}", all()), format!("{:?}", all()));
        let count = |is: fn(&Listing) -> bool| all().iter().filter(|listing| is(listing)).count();
        for path in ["sheep", "cattle", "working-dog", "feed", "bedding"] {
            assert!(all().iter().filter(|listing| listing.path == path).count() > 150, "{path}");
        }
        assert!((650..850).contains(&count(|l| l.body["price"]["type"] == "poa")));
        assert!((400..600).contains(&count(|l| l.body["type"] == "buying")));
        assert!((400..700).contains(&count(|l| l.body["properties"]["breed"] == "Texel")));
        assert!((1..20).contains(&count(|l| l.body["properties"]["breed"] == RARE)));
    }
}
