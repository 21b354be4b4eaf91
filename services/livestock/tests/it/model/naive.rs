//! A naive model of the search (`docs/api/listings.md`, "Search" and "Facets").

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

use common::wire::{fold, sort_key};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use super::farms::{BREEDS, CATEGORIES, CITIES, FARMS, INFO, PLACES, PUBLISHED, SEXES, WORDS, one};

type Filters = Vec<(&'static str, String)>;

const FACETS: [&str; 7] = [
    "f:status",
    "f:commodityType",
    "f:commodityBreed",
    "f:breedType",
    "f:commodityBreedSociety",
    "f:commoditySexes",
    "f:commodityAdditionalInfo",
];

/// A random search.
pub struct RandomSearch {
    filters: Filters,
    pub point: Option<(f64, f64)>,
    pub sort: &'static str,
    pub desc: bool,
}

impl RandomSearch {
    pub fn new(rng: &mut StdRng) -> Self {
        let several =
            |rng: &mut StdRng| format!("{},{}", one(rng, &BREEDS), one(rng, &BREEDS).to_uppercase());
        let statuses = ["active-selling", "active-buying", "sold", "found", "cancelled", "draft"];
        let types = [
            "cattle",
            "Sheep",
            "working dog",
            "feed",
            "store",
            "CALVES",
            "bulling_heifers",
            "100%25",
            "%25",
            "stor",
            "none",
        ];
        let mut filters = vec![
            ("f:status", one(rng, &statuses).to_owned()),
            ("f:commodityType", one(rng, &types).to_owned()),
            ("f:commodityBreed", several(rng)),
            ("f:breedType", several(rng)),
            ("f:commodityBreedSociety", several(rng)),
            ("f:commoditySexes", one(rng, &SEXES).to_owned()),
            ("f:commodityAdditionalInfo", one(rng, &INFO).to_owned()),
            ("minAge", format!("{}", f64::from(rng.random_range(0..80)) / 4.0)),
            ("maxAge", format!("{}", f64::from(rng.random_range(80..600)) / 4.0)),
            ("f:organisationId", one(rng, &[&FARMS[..], &["A"]].concat()).to_owned()),
            ("isWishlisted", "true".to_owned()),
        ];
        if let Some((lat, lon)) = PLACES.choose(rng) {
            let (to_lat, to_lon) = PLACES.choose(rng).unwrap();
            let (south, north) = (lat.min(*to_lat), lat.max(*to_lat));
            filters.push(("bbox", format!("{lon},{south},{to_lon},{north}")));
        }
        filters.retain(|_| rng.random_bool(0.15));
        let point = PLACES.choose(rng).filter(|_| rng.random_bool(0.4)).copied();
        if point.is_some() && rng.random_bool(0.6) {
            filters.push(("distanceKm", one(rng, &["0.5", "25", "60.5", "400", "9000", "20000"]).to_owned()));
        }
        let sorts = ["createdAt", "publishedAt", "price", "age", "quantity", "organisationName", "distance"];
        let sort = sorts[rng.random_range(0..if point.is_some() { 7 } else { 6 })];
        Self { filters, point, sort, desc: rng.random_bool(0.5) }
    }

    /// Returns a random search for words, with other filters.
    pub fn with_words(rng: &mut StdRng) -> Self {
        let words = (0..rng.random_range(1..=3)).map(|_| random_word(rng)).collect::<Vec<_>>().join(" ");
        let mut search = Self::new(rng);
        // The other filters of most searches find nothing together with rare words.
        search.filters.truncate(rng.random_range(0..3));
        if search.filters.iter().all(|(name, _)| *name != "distanceKm")
            && rng.random_bool(0.2)
            && search.point.is_some()
        {
            search.filters.push(("distanceKm", "400".to_owned()));
        }
        search.filters.push(("query", words));
        search
    }

    pub fn query(&self) -> String {
        let mut query = format!("sortBy={}&sortDesc={}", self.sort, self.desc);
        if let Some((lat, lon)) = self.point {
            query.extend([format!("&latitude={lat}&longitude={lon}")]);
        }
        query.extend(self.filters.iter().map(|(name, value)| match *name {
            "query" => {
                let encoded: Vec<_> = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
                format!("&query={}", encoded.concat())
            }
            _ => format!("&{name}={value}").replace(' ', "%20"),
        }));
        query
    }

    pub fn filter(&self, name: &str) -> Option<&str> {
        self.filters.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
    }
}

/// Returns a word of texts in any case, a part of one, a postcode with or without a space, or a word that no text has.
fn random_word(rng: &mut StdRng) -> String {
    let word =
        one(rng, &[&WORDS[..], &WORDS[..3], &CITIES, &BREEDS, &["Acorn", "powys", "word249"]].concat());
    let letters: Vec<_> = word.chars().collect();
    match rng.random_range(0..6) {
        0 => letters[rng.random_range(0..letters.len())..].iter().collect(),
        1 => letters[..rng.random_range(1..=letters.len())].iter().collect(),
        2 => word.to_uppercase(),
        3 => one(rng, &["LD3 7EG", "ld37eg", "LD2 3LH", "ld23lh", "75008", "h91e2k3", "37eg"]).to_owned(),
        4 if rng.random_bool(0.3) => one(rng, &["unsearched", "zebra", "zz", "quiets"]).to_owned(),
        _ => word.to_owned(),
    }
}

/// Returns whether each word occurs in a text that a query compares.
fn has_words(listing: &Value, query: &str) -> bool {
    let text = |pointer: &str| fold(listing.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
    let mut texts = [
        "/properties/title",
        "/properties/breed",
        "/properties/breedType",
        "/properties/breedSociety",
        "/description",
        "/organisationName",
        "/location/address/city",
        "/location/address/region",
        "/location/address/postcode",
    ]
    .map(text)
    .to_vec();
    texts.push(text("/location/address/postcode").replace(' ', ""));
    texts.extend(words(&listing["tags"]).iter().map(|tag| fold(tag)));
    fold(query).split(' ').all(|word| texts.iter().any(|text| has_word(text, word)))
}

/// Returns whether a text has a word; one of a single letter only at the beginning of a word.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = word.chars().count() == 1 && word.chars().all(char::is_alphanumeric);
    if !is_letter {
        return text.contains(word);
    }
    text.split(|c: char| !c.is_alphanumeric()).any(|part| part.starts_with(word))
}

/// Returns the distance in km if the listing has coordinates and the search a point.
pub fn haversine(listing: &Value, point: Option<(f64, f64)>) -> Option<f64> {
    let at = |name: &str| Some(listing.pointer("/location/coordinates")?[name].as_f64()?.to_radians());
    let (lat, lon) = (at("lat")?, at("lon")?);
    let (to_lat, to_lon) = point.map(|(lat, lon)| (lat.to_radians(), lon.to_radians()))?;
    let half = |angle: f64| (angle / 2.0).sin().powi(2);
    let sum = half(to_lat - lat) + lat.cos() * to_lat.cos() * half(to_lon - lon);
    Some(2.0 * 6_371.008_8 * sum.sqrt().min(1.0).asin())
}

/// Returns the age of a dog in completed months.
fn dogs_age(listing: &Value) -> Option<f64> {
    let born = listing.pointer("/properties/registration/dateOfBirth")?.as_str()?;
    let today = database::Timestamp::now().to_string();
    let part = |date: &str, range: std::ops::Range<usize>| date[range].parse::<i32>().unwrap();
    let months = |date: &str| part(date, 0..4) * 12 + part(date, 5..7);
    let is_incomplete = part(&today, 8..10) < part(born, 8..10);
    Some(f64::from(months(&today) - months(born) - i32::from(is_incomplete)))
}

fn number(listing: &Value, search: &RandomSearch) -> Option<f64> {
    let of = |pointer: &str| listing.pointer(pointer).and_then(Value::as_f64);
    match search.sort {
        "price" => of("/price/pricePerUnit/amount").or(of("/price/minPrice/amount")),
        "age" => of("/properties/minAge").or(of("/properties/maxAge")).or(dogs_age(listing)),
        "quantity" => of("/properties/quantity"),
        _ => haversine(listing, search.point),
    }
}

/// Returns a text, or the texts of an array, in lower case.
fn words(value: &Value) -> Vec<String> {
    let texts = value.as_array().map_or_else(|| vec![value.clone()], Clone::clone);
    texts.iter().filter_map(Value::as_str).map(str::to_lowercase).collect()
}

fn sexes(listing: &Value) -> Vec<String> {
    let text = words(&listing["properties"]["sexes"]).concat();
    text.split(',').map(|sex| sex.trim().to_owned()).filter(|sex| !sex.is_empty()).collect()
}

fn category(listing: &Value) -> &'static str {
    let main = listing["categoryIds"][0].as_u64().unwrap();
    ["sheep", "cattle", "working dog", "feed", "bedding"][usize::try_from(main).unwrap() - 1]
}

fn status(listing: &Value) -> String {
    match listing["status"].as_str().unwrap() {
        "active" => format!("active-{}", listing["type"].as_str().unwrap()),
        other => other.to_owned(),
    }
}

fn matches(
    listing: &Value,
    wishlist: &HashSet<String>,
    search: &RandomSearch,
    name: &str,
    value: &str,
) -> bool {
    let properties = &listing["properties"];
    let any = |members: &[&str]| {
        let allowed: Vec<_> = value.split(',').map(fold).collect();
        members
            .iter()
            .flat_map(|member| words(&properties[*member]))
            .any(|word| allowed.contains(&fold(&word)))
    };
    let number = || value.parse::<f64>().unwrap();
    let age = |name: &str| properties[name].as_f64().or_else(|| dogs_age(listing));
    match name {
        "f:status" => status(listing) == value,
        "f:commodityType" if category(listing) == value.to_lowercase() => true,
        "f:commodityType" if CATEGORIES.contains(&value.to_lowercase().replace(' ', "-").as_str()) => false,
        "f:commodityType" => words(&properties["type"]).contains(&value.replace("%25", "%").to_lowercase()),
        "f:commodityBreed" => any(&["breed", "breedType"]),
        "f:breedType" => any(&["breedType"]),
        "f:commodityBreedSociety" => any(&["breedSociety"]),
        "f:commoditySexes" => sexes(listing).iter().any(|sex| sex == value),
        "f:commodityAdditionalInfo" => words(&properties["additionalInfo"]).iter().any(|info| info == value),
        "minAge" => age("minAge").is_some_and(|age| age >= number()),
        "maxAge" => age("maxAge").is_some_and(|age| age <= number()),
        "query" => has_words(listing, value),
        "f:organisationId" => listing["organisationId"] == *value,
        "isWishlisted" => wishlist.contains(listing["id"].as_str().unwrap()),
        "bbox" => {
            let edges: Vec<f64> = value.split(',').map(|edge| edge.parse().unwrap()).collect();
            let [west, south, east, north] = edges[..] else { panic!("{value}") };
            let at = |name: &str| listing.pointer("/location/coordinates")?[name].as_f64();
            at("lat").zip(at("lon")).is_some_and(|(lat, lon)| {
                let is_east = west <= lon && lon <= east || west > east && (lon >= west || lon <= east);
                is_east && south <= lat && lat <= north
            })
        }
        "distanceKm" => haversine(listing, search.point).is_some_and(|km| km <= number()),
        other => panic!("{other}"),
    }
}

/// A listing with the filters that reject it. Without `f:status`, the default status counts as that filter.
pub struct FilteredListing<'a> {
    listing: &'a Value,
    rejected_by: Vec<&'static str>,
}

/// Applies the filters of a search to each listing.
pub fn filter_listings<'a>(
    all: &'a [Value],
    wishlist: &HashSet<String>,
    search: &RandomSearch,
) -> Vec<FilteredListing<'a>> {
    let has_default_status = |listing: &Value| match search.filter("isWishlisted") {
        _ if search.filter("f:status").is_some() => true,
        Some(_) => listing["status"] != "draft",
        None => listing["status"] == "active",
    };
    let filtered = all.iter().map(|listing| {
        let rejects =
            |(name, value): &&(&'static str, String)| !matches(listing, wishlist, search, name, value);
        let given = search.filters.iter().filter(rejects).map(|(name, _)| *name);
        let rejected_by = given.chain((!has_default_status(listing)).then_some("f:status")).collect();
        FilteredListing { listing, rejected_by }
    });
    filtered.collect()
}

fn compare(a: &Value, b: &Value, search: &RandomSearch) -> Ordering {
    let directed = |order: Ordering| if search.desc { order.reverse() } else { order };
    let text = |l: &Value, name: &str| l[name].as_str().unwrap().to_lowercase();
    let order = match search.sort {
        "createdAt" => directed(text(a, "createdAtUTC").cmp(&text(b, "createdAtUTC"))),
        "publishedAt" => {
            let at = |l: &Value| {
                text(l, if l["publishedAtUTC"].is_null() { "createdAtUTC" } else { "publishedAtUTC" })
            };
            directed(at(a).cmp(&at(b)))
        }
        "organisationName" => {
            let key = |l: &Value| sort_key(l["organisationName"].as_str().unwrap());
            directed(key(a).cmp(&key(b)))
        }
        _ => match (number(a, search), number(b, search)) {
            (Some(a), Some(b)) => directed(a.total_cmp(&b)),
            (a, b) => b.is_some().cmp(&a.is_some()),
        },
    };
    order.then(directed(text(a, "id").cmp(&text(b, "id"))))
}

/// The caller of a search.
#[derive(Clone, Copy, Debug)]
pub struct Viewer<'a> {
    pub org: &'a str,
    pub admin: bool,
}

impl Viewer<'_> {
    /// Returns whether a search may return a listing. Drafts are found by their organisation only, cancelled drafts
    /// also by `admin`.
    fn may_find(&self, listing: &Value) -> bool {
        listing[PUBLISHED] == true
            || listing["organisationId"] == self.org
            || (self.admin && listing["status"] != "draft")
    }
}

/// Returns the ids of all listings that a search must find, in order.
pub fn expected(listings: &[FilteredListing], viewer: Viewer, search: &RandomSearch) -> Vec<String> {
    let visible = |l: &&Value| viewer.may_find(l);
    let passed = listings.iter().filter(|filtered| filtered.rejected_by.is_empty());
    let mut found: Vec<_> = passed.map(|filtered| filtered.listing).filter(visible).collect();
    found.sort_by(|a, b| compare(a, b, search));
    crate::sample::ids(&json!(found))
}

/// Returns the values of a listing in a facet.
fn values(listing: &Value, facet: &str) -> Vec<String> {
    let text = |member: &str| listing["properties"][member].as_str().map(str::to_owned);
    match facet {
        "f:status" if ["draft", "cancelled"].contains(&listing["status"].as_str().unwrap()) => vec![],
        "f:status" => vec![status(listing)],
        "f:commodityType" => vec![category(listing).to_owned()],
        "f:commodityBreed" => {
            let mut breeds: Vec<_> = ["breed", "breedType"].into_iter().filter_map(text).collect();
            breeds.dedup();
            breeds
        }
        "f:breedType" => text("breedType").into_iter().collect(),
        "f:commodityBreedSociety" => text("breedSociety").into_iter().collect(),
        "f:commoditySexes" => sexes(listing),
        _ => words(&listing["properties"]["additionalInfo"]),
    }
}

/// Returns the counts of each filter under all other filters. Drafts and cancelled listings have no value of
/// `f:status`.
pub fn facets(listings: &[FilteredListing], viewer: Viewer) -> Value {
    let counted: Vec<_> = listings.iter().filter(|filtered| viewer.may_find(filtered.listing)).collect();
    let filters = FACETS.map(|facet| {
        let mut counts = BTreeMap::<String, u32>::new();
        let found = counted.iter().filter(|filtered| filtered.rejected_by.iter().all(|name| *name == facet));
        for value in found.clone().flat_map(|filtered| values(filtered.listing, facet)) {
            *counts.entry(value).or_default() += 1;
        }
        if facet == "f:commodityBreed" {
            // A breed type is found by the filter, but is no value of it.
            let breeds: HashSet<_> =
                found.filter_map(|l| l.listing["properties"]["breed"].as_str()).collect();
            counts.retain(|value, _| breeds.contains(value.as_str()));
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let counts = counts.into_iter().map(|(value, count)| json!({"value": value, "count": count}));
        (facet, json!(counts.collect::<Vec<_>>()))
    });
    let passing = counted.iter().filter(|filtered| filtered.rejected_by.is_empty());
    let passing: Vec<_> = passing.map(|filtered| filtered.listing).collect();
    let mut facets = json!({"filters": BTreeMap::from(filters), "total": passing.len()});
    if let Some(stats) = stats(&passing) {
        facets["stats"] = stats;
    }
    facets
}

/// Returns the extent of numbers, if there are some.
fn extent(numbers: impl Iterator<Item = f64>) -> Option<Value> {
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    let number = |n: f64| if n.fract() == 0.0 { json!(n as i64) } else { json!(n) };
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    Some(json!({"minimum": number(*numbers.first()?), "maximum": number(*numbers.last()?)}))
}

/// Returns the statistics of listings.
fn stats(listings: &[&Value]) -> Option<Value> {
    let mut prices = BTreeMap::<&str, Vec<f64>>::new();
    let mut listed = BTreeMap::<&str, usize>::new();
    for price in listings.iter().map(|listing| &listing["price"]) {
        let monies = ["pricePerUnit", "minPrice", "maxPrice"].map(|name| &price[name]);
        for (n, money) in monies.into_iter().filter(|money| money.is_object()).enumerate() {
            let currency = money["currency"].as_str().unwrap();
            prices.entry(currency).or_default().push(money["amount"].as_f64().unwrap());
            *listed.entry(currency).or_default() += usize::from(n == 0);
        }
    }
    let mut stats = json!({});
    // Of equals, the last one is the maximum.
    if let Some((currency, _)) = listed.iter().rev().max_by_key(|(_, count)| **count) {
        stats["price"] = extent(prices[currency].iter().copied()).unwrap();
        stats["price"]["currency"] = json!(currency);
    }
    let ages = listings.iter().flat_map(|listing| {
        let of = |name: &str| listing["properties"][name].as_f64();
        [of("minAge"), of("maxAge"), dogs_age(listing)].into_iter().flatten()
    });
    if let Some(ages) = extent(ages) {
        stats["age"] = ages;
    }
    (stats != json!({})).then_some(stats)
}
