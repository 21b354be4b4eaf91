//! The index, compared with applying the filters of all searches, and what it costs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use database::{Id, Json, Timestamp};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::index::{NewSearch, SearchIndex};
use super::model::ListingToMatch;
use crate::categories::Categories;
use crate::listings::{FacetColumns, ListingSearch, SearchFilters, SingleListingMatcher};
use crate::saved_searches::parameters::ParameterRules;

/// Breeds, the first ones far more frequent than the others.
fn breed(rng: &mut StdRng) -> String {
    let number = (200.0 * rng.random::<f64>().powi(4)).floor();
    format!("breed {number}")
}

fn id(n: usize) -> Id {
    Id::parse(&format!("00000000-0000-7000-8000-{n:012}")).unwrap()
}

/// A point, most often around the Bristol Channel.
fn point(rng: &mut StdRng) -> (f64, f64) {
    let spread = if rng.random_bool(0.8) { 1.0 } else { 8.0 };
    (52.0 + spread * rng.random_range(-1.0..1.0), -3.0 + spread * rng.random_range(-1.0..1.0))
}

/// Returns random parameters as most users have them: a category with breeds or a place, and sometimes more.
fn parameters(rng: &mut StdRng) -> Value {
    let mut parameters = json!({});
    if rng.random_bool(0.8) {
        parameters["f:commodityType"] = json!(["cattle", "cattle", "sheep", "store"].choose(rng));
    }
    if rng.random_bool(0.7) {
        let breeds: Vec<_> = (0..rng.random_range(1..4)).map(|_| breed(rng)).collect();
        parameters["f:commodityBreed"] = json!(breeds);
    }
    if rng.random_bool(0.1) {
        let ((south, east), (north, west)) = (point(rng), point(rng));
        parameters["bbox"] = json!(format!("{west},{},{east},{}", south.min(north), south.max(north)));
    }
    if rng.random_bool(0.5) {
        let (lat, lon) = point(rng);
        parameters["latitude"] = json!(lat.to_string());
        parameters["longitude"] = json!(lon.to_string());
        parameters["distanceKm"] = json!(["25", "50", "80", "500"].choose(rng));
    }
    for (name, values) in [
        ("minAge", ["6", "12", "18"]),
        ("maxAge", ["24", "36", "48"]),
        ("f:commoditySexes", ["heifers", "steers", "cows"]),
        ("f:commodityAdditionalInfo", ["organic", "pedigree", "in-calf"]),
        ("f:status", ["active-selling", "active-buying", "sold"]),
        ("f:organisationId", ["a", "b", "c"]),
        ("query", ["quiet", "br con", "ie"]),
        ("f:commodityBreedSociety", ["breed 0", "breed 1", "breed 2"]),
        ("f:breedType", ["breed 0", "breed 1", "breed 2"]),
    ] {
        if rng.random_bool(0.1) {
            parameters[name] = json!(values.choose(rng));
        }
    }
    parameters
}

fn searches(rng: &mut StdRng, count: usize) -> Vec<ListingSearch> {
    let rules = ParameterRules::new(Arc::new(Categories::open(None).unwrap())).unwrap();
    (0..count).map(|_| rules.search(parameters(rng).as_object().unwrap(), None, &[]).unwrap()).collect()
}

fn listing(rng: &mut StdRng, n: usize) -> ListingToMatch {
    let lines = |rng: &mut StdRng, words: &[&str]| {
        let word = words.choose(rng).filter(|_| rng.random_bool(0.5));
        word.map_or_else(String::new, |word| format!("\n{word}\n"))
    };
    let place = Some(point(rng)).filter(|_| rng.random_bool(0.9));
    let [x, y, z] = place.map_or([None; 3], |(lat, lon)| {
        let (lat, lon) = (lat.to_radians(), lon.to_radians());
        [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()].map(Some)
    });
    let min_age = rng.random_bool(0.5).then(|| rng.random_range(0..48) * 10_000);
    #[expect(clippy::cast_possible_truncation, reason = "-900..=900")]
    let band = place.map(|(lat, _)| (lat * 10.0).floor() as i32);
    ListingToMatch {
        columns: FacetColumns {
            id: id(n),
            organisation_id: (*["a", "b", "x"].choose(rng).unwrap()).to_owned(),
            kind: (*["selling", "buying"].choose(rng).unwrap()).to_owned(),
            status: "active".to_owned(),
            category: rng.random_range(1..=2),
            min_age,
            max_age: min_age.map(|age| age + 20_000),
            born: None,
            breed: rng.random_bool(0.9).then(|| breed(rng)),
            breed_type: rng.random_bool(0.3).then(|| breed(rng)),
            breed_society: rng.random_bool(0.3).then(|| breed(rng)),
            types: lines(rng, &["store", "calves"]),
            sexes: lines(rng, &["heifers", "cows"]),
            additional_info: lines(rng, &["organic", "in-calf"]),
            derived: 1,
            x,
            y,
            z,
            lon: place.map(|(_, lon)| lon),
            cancelled_as_draft: false,
            search_text: Some(format!(
                "farm\n{}",
                ["quiet heifers", "brecon", "calves, quiet"].choose(rng).unwrap()
            )),
            price: None,
            max_price: None,
            currency: None,
        },
        band,
        document: Json("{}".to_owned()),
    }
}

fn insert(index: &mut SearchIndex, n: usize, version: i64, search: &ListingSearch) {
    index.insert(&NewSearch { id: id(n), user_id: "u", version, matches_from: 5, search });
}

/// Returns the ids of the searches whose filters a listing passes.
fn expected(searches: &[ListingSearch], listing: &ListingToMatch) -> Vec<Id> {
    let one = SingleListingMatcher::of(&listing.columns);
    let passes = |search| SearchFilters::of(search).is_some_and(|filters| one.passes(&filters));
    (0..).zip(searches).filter(|(_, search)| passes(search)).map(|(n, _)| id(n)).collect()
}

#[test]
fn the_index_finds_what_all_filters_find() {
    let mut rng = StdRng::seed_from_u64(20_261_126);
    let mut searches = searches(&mut rng, 600);
    let mut index = SearchIndex::default();
    for (n, search) in searches.iter().enumerate() {
        insert(&mut index, n, 1, search);
    }
    // Some are changed, removed and added again.
    for n in (0..600).step_by(3) {
        let other = searches[(n + 7) % 600].clone();
        insert(&mut index, n, 2, &other);
        searches[n] = other;
    }
    for n in (0..600).step_by(5) {
        index.remove(id(n));
        index.remove(id(n));
        insert(&mut index, n, 2, &searches[n]);
    }
    index.set_now(Timestamp::now());
    let mut total = 0;
    for n in 0..400 {
        let listing = listing(&mut rng, n);
        let found: Vec<Id> = index.matches(&listing, 5).into_iter().map(|found| found.id).collect();
        assert_eq!(found, expected(&searches, &listing), "{listing:?}");
        assert!(index.matches(&listing, 4).is_empty(), "the event is older than the searches");
        total += found.len();
    }
    assert!(total > 400, "most listings must match: {total}");
    (0..600).for_each(|n| index.remove(id(n)));
    assert_eq!(index.len(), 0);
}

#[test]
fn searches_for_closed_listings_are_not_held() {
    let rules = ParameterRules::new(Arc::new(Categories::open(None).unwrap())).unwrap();
    let mut index = SearchIndex::default();
    for (status, held) in [("sold", 0), ("draft", 0), ("cancelled", 0), ("active-buying", 1)] {
        let parameters = json!({"f:status": status});
        insert(&mut index, 1, 1, &rules.search(parameters.as_object().unwrap(), None, &[]).unwrap());
        assert_eq!(index.len(), held, "{status}");
    }
}

#[test]
fn ages_of_dogs_are_those_of_the_day() {
    let rules = ParameterRules::new(Arc::new(Categories::open(None).unwrap())).unwrap();
    let mut index = SearchIndex::default();
    let parameters = json!({"minAge": "12"});
    insert(&mut index, 1, 1, &rules.search(parameters.as_object().unwrap(), None, &[]).unwrap());
    let mut dog = listing(&mut StdRng::seed_from_u64(1), 1);
    (dog.columns.min_age, dog.columns.max_age) = (None, None);
    let at = |text| Timestamp::parse(text).unwrap();
    dog.columns.born = Some(crate::listings::day(at("2026-03-15")));
    for (now, matches) in [("2027-03-14", false), ("2027-03-15", true), ("2027-03-14", false)] {
        index.set_now(at(now));
        assert_eq!(!index.matches(&dog, 5).is_empty(), matches, "{now}");
    }
}

/// Prints the time for a listing among 10,000 searches. Even without optimization it is below 5 ms.
#[test]
fn a_listing_is_compared_with_few_of_10_000_searches() {
    let mut rng = StdRng::seed_from_u64(10_000);
    let mut index = SearchIndex::default();
    for (n, search) in searches(&mut rng, 10_000).iter().enumerate() {
        insert(&mut index, n, 1, search);
    }
    index.set_now(Timestamp::now());
    let listings: Vec<_> = (0..200).map(|n| listing(&mut rng, n)).collect();
    let (mut compared, mut found, mut time) = (0, 0, Duration::ZERO);
    for listing in &listings {
        compared += index.candidate_count(listing);
        let started = Instant::now();
        found += index.matches(listing, 5).len();
        time += started.elapsed();
    }
    let count = listings.len();
    let micros = time.as_micros() / 200;
    println!(
        "10,000 searches: a listing is compared with {}, matches {}, takes {micros} µs",
        compared / count,
        found / count
    );
    assert!(compared / count < 3_000, "{compared}");
    assert!(found / count > 500, "{found}");
}
