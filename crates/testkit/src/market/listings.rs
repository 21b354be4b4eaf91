//! Generated listings, the same in every run. Organisations, breeds and places are skewed as in real data: few have
//! many listings, and many have few.

use serde_json::{Value, json};

use super::loads::POSTCODES;
use crate::market::random::Random;

/// Number of organisations: `org-0`, `org-1`, …
pub const ORGANISATION_COUNT: usize = 5_000;
/// The organisation of 12 % of the listings.
pub const LARGE_ORGANISATION: &str = "org-0";
/// The breed of about one listing in five hundred.
pub const RARE_BREED: &str = "Breed 80";
/// Breeds beside the three common ones of a category: `Breed 1` to [`RARE_BREED`].
const OTHER_BREEDS: usize = 80;
/// Markets with listings around them. The first has 15 % of the listings.
const MARKETS: usize = 400;
/// Exponent of the distributions.
const SKEW: f64 = 1.1;
/// Every 50th listing is a draft.
const LISTINGS_PER_DRAFT: usize = 50;
/// The bench closes every 50th listing, beginning with the first, which is no draft.
pub const LISTINGS_PER_CLOSED: usize = LISTINGS_PER_DRAFT;

/// Sexes: four of sheep, then four of cattle.
pub const SEXES: [&str; 8] = ["ewes", "rams", "lambs", "shearlings", "heifers", "steers", "bulls", "cows"];
/// Values of `additionalInfo`.
pub const ADDITIONAL_INFO: [&str; 6] =
    ["crossbred", "in-lamb", "pedigree", "organic", "in-calf", "named-sire"];
const TYPES: [&str; 6] = ["store", "calves", "breeding", "finished", "cull", "weaned"];
const CITIES: [&str; 6] = ["Brecon", "Ludlow", "Skipton", "Penrith", "Oban", "Truro"];

/// A request that creates a listing.
#[derive(Debug)]
pub struct GeneratedListing {
    /// Number of the organisation.
    pub organisation: usize,
    /// Last segment of the path: `/v1/listings/{path}`.
    pub path: &'static str,
    /// Request body.
    pub body: Value,
}

/// Returns the listing with a number.
pub fn listing(number: usize) -> GeneratedListing {
    let random = &mut Random::of(number);
    let organisation = random.skewed(ORGANISATION_COUNT, SKEW);
    let (path, category, subcategory) = match random.below(100) {
        0..40 => ("sheep", 1, 101 + random.below(9)),
        40..75 => ("cattle", 2, 201 + random.below(10)),
        75..85 => ("working-dog", 3, 301 + random.below(3)),
        85..95 => ("feed", 4, 401 + random.below(7)),
        _ => ("bedding", 5, 501 + random.below(4)),
    };
    let mut body = json!({
        "type": if random.percent(10) { "buying" } else { "selling" },
        "isDraft": number % LISTINGS_PER_DRAFT == 1,
        "categoryIds": [category, subcategory],
        "location": location(random),
        "price": price(random),
        "files": null,
        "description": format!("Lot {number}: sound, quiet to handle, to be seen by appointment."),
        "tags": [random.one(&["spring", "autumn", "dispersal"])],
    });
    if category <= 3 {
        body["properties"] = properties(random, category);
    }
    GeneratedListing { organisation, path, body }
}

/// Returns a breed of animals of a category (1 to 3), common ones more often.
pub fn breed(random: &mut Random, category: usize) -> String {
    let common_breeds = match category {
        1 => ["Texel", "Suffolk", "Swaledale"],
        2 => ["Hereford", "Limousin", "Aberdeen Angus"],
        _ => ["Border Collie", "Kelpie", "Huntaway"],
    };
    let rank = random.skewed(common_breeds.len() + OTHER_BREEDS, SKEW);
    common_breeds
        .get(rank)
        .map_or_else(|| format!("Breed {}", rank + 1 - common_breeds.len()), |name| (*name).to_owned())
}

/// Returns a latitude and a longitude in or near Great Britain: near a market, or anywhere with a probability of 20 %.
pub fn point(random: &mut Random) -> (f64, f64) {
    let anywhere = |random: &mut Random| (random.between((50.0, 58.5)), random.between((-5.5, 1.5)));
    if random.percent(20) {
        return anywhere(random);
    }
    let (lat, lon) = anywhere(&mut Random::of(random.skewed(MARKETS, SKEW)));
    // The sum of two is more often near the market.
    let mut offset = || random.between((-0.2, 0.2)) + random.between((-0.2, 0.2));
    (lat + offset(), lon + offset())
}

/// Returns a location in or near Great Britain, or null with a probability of 3 %.
fn location(random: &mut Random) -> Value {
    if random.percent(3) {
        return Value::Null;
    }
    let (lat, lon) = point(random);
    json!({
        "address": {"city": random.one(&CITIES), "postcode": random.one(&POSTCODES), "countryISO": "GB"},
        "coordinates": {"lat": lat, "lon": lon},
    })
}

fn price(random: &mut Random) -> Value {
    let mut pounds = |extra: usize| json!({"amount": 20 + random.below(3_980) + extra, "currency": "GBP"});
    let (lower, upper) = (pounds(0), pounds(4_000));
    match random.below(100) {
        0..15 => json!({"type": "poa"}),
        15..30 => json!({"type": "range", "minPrice": lower, "maxPrice": upper}),
        _ => json!({"type": "fixed", "pricePerUnit": lower}),
    }
}

fn properties(random: &mut Random, category: usize) -> Value {
    let breed = breed(random, category);
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
    properties["additionalInfo"] =
        json!(ADDITIONAL_INFO.iter().filter(|_| random.percent(15)).collect::<Vec<_>>());
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
    fn listings_cover_all_kinds_and_are_the_same_in_every_run() {
        let all = || (0..5_000).map(listing).collect::<Vec<_>>();
        let listings = all();
        assert_eq!(format!("{listings:?}"), format!("{:?}", all()));
        let count = |matches: fn(&GeneratedListing) -> bool| {
            listings.iter().filter(|listing| matches(listing)).count()
        };
        for path in ["sheep", "cattle", "working-dog", "feed", "bedding"] {
            assert!(listings.iter().filter(|listing| listing.path == path).count() > 150, "{path}");
        }
        assert!((650..850).contains(&count(|l| l.body["price"]["type"] == "poa")));
        assert!((400..600).contains(&count(|l| l.body["type"] == "buying")));
        assert!((300..450).contains(&count(|l| l.body["properties"]["breed"] == "Texel")));
        assert!((1..20).contains(&count(|l| l.body["properties"]["breed"] == RARE_BREED)));
        assert!((500..700).contains(&count(|l| l.organisation == 0)));
        let mut market = Random::of(0);
        let (lat, lon) = (market.between((50.0, 58.5)), market.between((-5.5, 1.5)));
        let is_near_first_market = |listing: &&GeneratedListing| {
            let of = |name: &str| listing.body["location"]["coordinates"][name].as_f64();
            of("lat").zip(of("lon")).is_some_and(|at| (at.0 - lat).abs() < 0.4 && (at.1 - lon).abs() < 0.4)
        };
        assert!((400..1_200).contains(&listings.iter().filter(is_near_first_market).count()));
    }
}
